// Adapters of convolutions, embeddings and products in blocks, and nodes by their number.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/adapters.h>
#include <ondine/error.h>
#include <ondine/layers.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::vector<std::string> modules_of(const Model& model) {
  std::vector<std::string> names;
  for (const AdapterInfo& one : adapters(model)) names.push_back(one.module);
  return names;
}

}  // namespace

TEST_CASE("convolutions have adapters where targets name them") {
  const PrepareOptions options = with_adapters({.rank = 2, .alpha = 6, .targets = {"conv*"}});
  const Model model = prepare(image_network(), options);
  CHECK(modules_of(model) == std::vector<std::string>{"conv1", "conv2", "conv3"});
  CHECK(model.get_state("conv1.lora_A").shape() == Shape{2, 3, 3, 3});
  CHECK(model.get_state("conv1.lora_B").shape() == Shape{6, 2, 1, 1});
  CHECK(model.get_state("conv2.lora_A").shape() == Shape{2, 6, 1, 1});
  check_kind(image_network(), options, images());
  check_gradients(image_network(), options, images());
}

TEST_CASE("embeddings have adapters where targets name them") {
  const PrepareOptions options = with_adapters({.rank = 3, .alpha = 6, .targets = {"words"}});
  const Model model = prepare(text_network(), options);
  CHECK(model.get_state("words.lora_A").shape() == Shape{11, 3});
  CHECK(model.get_state("words.lora_B").shape() == Shape{3, 6});
  const auto zeros = model.get_state("words.lora_A");
  for (const float one : zeros.values<float>()) CHECK(one == 0);
  check_kind(text_network(), options, texts());
  check_gradients(text_network(), options, texts());
}

TEST_CASE("no pattern and all-linear leave convolutions and embeddings alone") {
  for (const std::vector<std::string>& targets :
       {std::vector<std::string>{}, std::vector<std::string>{"all-linear"}}) {
    const PrepareOptions options = with_adapters({.rank = 2, .targets = targets});
    CHECK(modules_of(prepare(text_network(), options)) == std::vector<std::string>{"key"});
    CHECK_THROWS_WITH(prepare(image_network(), options), Contains("no linear layer for adapters"));
  }
}

TEST_CASE("convolutions in groups have no adapters") {
  ModelBuilder b("groups", 17);
  std::string x = b.input("x", DType::float32, {"N", 4, 5, 5});
  x = b.node("Conv", {x, b.initializer("conv.weight", random_floats({4, 2, 3, 3}, 1))},
             {{"group", 2L}});
  x = b.node("GlobalAveragePool", {x});
  b.output(b.node("Flatten", {x}), DType::float32, {"N", 4});
  CHECK_THROWS_WITH(prepare(b.bytes(), with_adapters({.rank = 2, .targets = {"conv"}})),
                    Contains("target 'conv'") && Contains("there are: none"));
}

TEST_CASE("adapters of products in blocks stay beside them") {
  ModelBuilder b("blocks", 17);
  Tensor blocks(DType::uint8, {8, 1, 16});
  for (std::size_t i = 0; i < 128; ++i) {
    blocks.mutable_values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37 % 251);
  }
  const std::string w = b.initializer("fc.blocks", blocks);
  const std::string scales = b.initializer("fc.scales", random_floats({8}, 2, 0.02F, 0.1F));
  b.input("x", DType::float32, {"N", 32});
  b.node("MatMulNBits", "com.microsoft", {"x", w, scales}, {"y"},
         {{"K", 32L}, {"N", 8L}, {"bits", 4L}, {"block_size", 32L}});
  const std::string head = b.initializer("head", random_floats({8, 4}, 3, -0.5F, 0.5F));
  b.output(b.node("MatMul", {b.node("Tanh", {"y"}), head}), DType::float32, {"N", 4});
  const Tensor batch = random_floats({6, 32}, 4);
  Model model = prepare(b.bytes(), with_adapters());
  CHECK(modules_of(model) == std::vector<std::string>{"fc.blocks"});
  const std::vector<float> before = first_output(model, {{"x", batch}});
  for (int i = 0; i < 4; ++i) model.train_step({{"x", batch}, batch_of_six()[1]});
  const Model exported = Model::load(model.export_inference());
  CHECK(modules_of(exported).size() == 1);
  CHECK(distance(before, first_output(model, {{"x", batch}})) > 0.01);
  CHECK(distance(first_output(exported, {{"x", batch}}), first_output(model, {{"x", batch}})) <
        1e-5);
}

TEST_CASE("scores for each token keep their classes last with an adapter beside the last layer") {
  ModelBuilder b("tokens", 17);
  std::string x = b.input("x", DType::float32, {"N", "T", 8});
  x = b.node("MatMul", {x, b.initializer("head.weight", random_floats({8, 5}, 1))});
  b.node("Add", {x, b.initializer("head.bias", random_floats({5}, 2))}, {}, "logits");
  b.output("logits", DType::float32, {"N", "T", 5});
  Tensor labels(DType::int64, {6, 3});
  for (std::size_t i = 0; i < 18; ++i) {
    labels.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i * 7 % 5);
  }
  const NamedValues feeds{{"x", random_floats({6, 3, 8}, 3)}, {"label", labels}};
  PrepareOptions lora = with_adapters({.rank = 2, .targets = {"head"}});
  PrepareOptions dora = lora;
  dora.lora->dora = true;
  PrepareOptions ia3;
  ia3.ia3 = Ia3{{"head"}, {}};
  for (const PrepareOptions& options : {lora, dora, ia3}) {
    CHECK(prepare(b.bytes(), options).train_step(feeds).scalar("loss") ==
          Approx(prepare(b.bytes(), PrepareOptions{}).train_step(feeds).scalar("loss")));
  }
}

TEST_CASE("targets may be numbers of nodes, which the list of layers has") {
  const LayerReport report = layers(Model::load(three_layers()), {{{"x", {1, 3, 8}}}, 0});
  REQUIRE(report.layers.size() == 4);  // the last one adds a bias
  const auto first = report.layers[0].node;
  const auto second = report.layers[1].node;
  REQUIRE((first && second));
  CHECK(to_string(report).starts_with("node  layer"));
  const auto chosen = [&](const std::string& target) {
    return modules_of(prepare(three_layers(), with_adapters({.rank = 2, .targets = {target}})));
  };
  CHECK(chosen(cat_number(*second)) == std::vector<std::string>{"body.fc2"});
  CHECK(chosen(cat_number(*first) + "," + std::to_string(*second)) ==
        std::vector<std::string>{"body.fc1", "body.fc2"});
  const auto refusal = [&](const std::string& target) {
    try {
      chosen(target);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refusal(cat_number(*first + 1)), Contains("(Tanh, of the value"));
  CHECK_THAT(refusal("@99"), Contains("names node 99; the model has nodes 0 to"));
  CHECK_THAT(refusal("@1,x"), Contains("is no list of nodes"));
  CHECK_THAT(refusal("@"), Contains("is no list of nodes"));
}

TEST_CASE("numbers of nodes are those of the file, whatever is put in front") {
  PrepareOptions options = with_adapters({.rank = 2, .targets = {"@0"}});
  ModelBuilder b("scaled", 17);
  std::string x = b.input("x", DType::float32, {"N", 8});
  x = b.node("MatMul", {x, b.initializer("fc.weight", random_floats({8, 5}, 1))});
  x = b.node("MatMul", {b.node("Tanh", {x}), b.initializer("head", random_floats({5, 4}, 2))});
  b.output(x, DType::float32, {"N", 4});
  options.preprocess.push_back({.scale = 0.5F});
  CHECK(modules_of(prepare(b.bytes(), options)) == std::vector<std::string>{"fc"});
}

TEST_CASE("where no name tells, the message offers numbers of nodes") {
  ModelBuilder b("nameless", 17);
  std::string x = b.input("x", DType::float32, {"N", 8});
  x = b.node("MatMul", {x, b.initializer("onnx::MatMul_12", random_floats({8, 5}, 1))});
  x = b.node("MatMul", {b.node("Tanh", {x}), b.initializer("val_76", random_floats({5, 4}, 2))});
  b.output(x, DType::float32, {"N", 4});
  CHECK_THROWS_WITH(prepare(b.bytes(), with_adapters({.rank = 2, .targets = {"query"}})),
                    Contains("does not tell the names of modules") && Contains("@N,M"));
}
