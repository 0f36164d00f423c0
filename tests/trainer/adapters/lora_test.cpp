// Adapters beside linear layers: what they change, what trains, what an export makes of them.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/adapters.h>
#include <ondine/doctor.h>
#include <ondine/error.h>
#include <ondine/gradcheck.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/adapters/network.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::vector<std::string> modules_of(const Model& model) {
  std::vector<std::string> names;
  for (const AdapterInfo& one : adapters(model)) names.push_back(one.module);
  return names;
}

std::string refusal(const PrepareOptions& options) {
  try {
    prepare(three_layers(), options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.message();
  }
  return {};
}

std::vector<std::string> state_names(const Model& model) {
  std::vector<std::string> names;
  for (const StateInfo& one : model.state()) {
    if (one.role == StateRole::weight) names.push_back(one.name);
  }
  return names;
}

}  // namespace

TEST_CASE("adapters stand beside every linear layer but the last, and change nothing at first") {
  PrepareReport report;
  const Model model = prepare(three_layers(), with_adapters(), {}, &report);
  CHECK(modules_of(model) == std::vector<std::string>{"body.fc1", "body.fc2"});
  CHECK(state_names(model) == std::vector<std::string>{"body.fc1.lora_A", "body.fc1.lora_B",
                                                       "body.fc2.lora_A", "body.fc2.lora_B"});
  CHECK(model.get_state("body.fc2.lora_A").shape() == Shape{36, 2});
  CHECK(model.get_state("body.fc2.lora_B").shape() == Shape{2, 10});
  CHECK(distance(logits_of(model), logits_of(Model::load(three_layers()))) == 0);
  CHECK(report.init == WeightInit::keep);
}

TEST_CASE("all linear layers and the last one may have adapters") {
  const Lora lora{.rank = 2, .targets = {"all-linear", "head"}};
  CHECK(modules_of(prepare(three_layers(), with_adapters(lora))) ==
        std::vector<std::string>{"body.fc1", "body.fc2", "head"});
}

TEST_CASE("an adapter adds alpha / rank times the product of its matrices to the weight") {
  for (const bool stabilized : {false, true}) {
    Lora lora{.rank = 4, .alpha = 6, .targets = {"fc2"}};
    lora.rank_stabilized = stabilized;
    Model model = prepare(three_layers(), with_adapters(lora));
    const Tensor a = random_floats({36, 4}, 20);
    const Tensor b = random_floats({4, 10}, 21);
    model.set_state(NamedValues{{"body.fc2.lora_A", a}, {"body.fc2.lora_B", b}});
    // y = alpha x w^T + scale x a b, so that w += scale / alpha (a b)^T.
    Tensor w = random_floats({10, 36}, 2, -0.5F, 0.5F);
    const double scale = (stabilized ? 6.0 / 2 : 6.0 / 4) / 0.5;
    for (std::size_t j = 0; j < 10; ++j) {
      for (std::size_t i = 0; i < 36; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          sum += static_cast<double>(a.values<float>()[i * 4 + k]) *
                 static_cast<double>(b.values<float>()[k * 10 + j]);
        }
        w.mutable_values<float>()[j * 36 + i] += static_cast<float>(scale * sum);
      }
    }
    Model plain = prepare(three_layers(), PrepareOptions{.init = WeightInit::keep});
    plain.set_state(NamedValues{{"body.fc2.weight", w}});
    CHECK(distance(logits_of(model), logits_of(plain)) < 1e-5);
  }
}

TEST_CASE("an export for inference has merged weights and no trace of adapters") {
  const Lora lora{.rank = 2, .alpha = 6, .dropout = GENERATE(0.0F, 0.25F)};
  const Model model = trained(with_adapters(lora));
  const std::vector<std::byte> bytes = model.export_inference();
  const Model merged = Model::load(bytes);
  CHECK(distance(logits_of(model), logits_of(Model::load(three_layers()))) > 0.01);
  CHECK(distance(logits_of(model), logits_of(merged)) < 1e-5);
  CHECK(adapters(merged).empty());
  CHECK(bytes.size() < three_layers().size() + 600);  // the data record
}

TEST_CASE("adapters of quantized weights stay beside them") {
  for (const FrozenFormat format : {FrozenFormat(DType::int8), FrozenFormat::nf4()}) {
    PrepareOptions options = with_adapters();
    options.quantize_frozen = format;
    ModelBuilder b("network", 21);
    std::string x = b.input("x", DType::float32, {"N", 64});
    x = b.node("MatMul", {x, b.initializer("fc.weight", random_floats({64, 64}, 1, -0.2F, 0.2F))});
    x = b.node("Tanh", {x});
    x = b.node("MatMul", {x, b.initializer("head", random_floats({64, 4}, 2, -0.2F, 0.2F))});
    b.output(x, DType::float32, {"N", 4});
    Model model = prepare(b.bytes(), options);
    const Tensor batch = random_floats({6, 64}, 3);
    for (int i = 0; i < 3; ++i) model.train_step({{"x", batch}, batch_of_six()[1]});
    const Model exported = Model::load(model.export_inference());
    CHECK(modules_of(exported) == std::vector<std::string>{"fc"});
    const auto values = [&](const Model& one) {
      const auto found = one.infer({{"x", batch}});
      const auto numbers = found[0].second.tensor().values<float>();
      return std::vector<float>(numbers.begin(), numbers.end());
    };
    CHECK(distance(values(model), values(exported)) < 1e-5);
  }
}

TEST_CASE("a new head trains besides the adapters, and named parameters do") {
  PrepareOptions options = with_adapters();
  options.head = NewHead{.classes = 3};
  options.train = {"body.fc2.bias"};
  const std::vector<std::string> names = state_names(prepare(three_layers(), options));
  for (const char* name : {"head.weight", "head.bias", "body.fc2.bias", "body.fc1.lora_A"}) {
    INFO(name);
    const auto is_part = [&](const std::string& one) { return one.starts_with(name); };
    CHECK(std::any_of(names.begin(), names.end(), is_part));
  }
  CHECK(std::find(names.begin(), names.end(), "body.fc2.weight") == names.end());
}

TEST_CASE("initialization draws a and makes b zeros, whatever training made of them") {
  Model model = trained(with_adapters());
  model.initialize(7);
  const Tensor first = model.get_state("body.fc1.lora_A");
  const auto b = model.get_state("body.fc1.lora_B");
  for (const float one : b.values<float>()) CHECK(one == 0);
  double most = 0;
  for (const float one : first.values<float>()) most = std::max(most, std::abs(double{one}));
  CHECK(most <= 1 / std::sqrt(8.0));
  CHECK(most > 0.5 / std::sqrt(8.0));
  model.initialize(8);
  const Tensor second = model.get_state("body.fc1.lora_A");
  CHECK_FALSE(std::equal(first.values<float>().begin(), first.values<float>().end(),
                         second.values<float>().begin()));
}

TEST_CASE("derivatives by adapters are those of differences") {
  const TemporaryFolder folder;
  const auto file = folder / "train.onnx";
  trained(with_adapters(), 2).export_training(file);
  const ondine::GradientCheck check(file, GradcheckOptions{});
  NamedValues feeds = batch_of_six();
  feeds[0].second = random_tensor({6, 3, 8}, 9);
  const auto results = check.run(feeds);
  CHECK(results.size() == 4);
  for (const GradcheckResult& one : results) {
    INFO(one.variable << ": " << one.analytic << " and " << one.numeric);
    CHECK(one.passed);
  }
}

TEST_CASE("the doctor finds nothing in adapters that have not moved yet") {
  for (const Finding& one : diagnose(prepare(three_layers(), with_adapters()), batch_of_six())) {
    INFO(one.check << ": " << one.message);
    CHECK_FALSE((one.check == "zero-gradient" || one.check == "weight-scale"));
  }
}

TEST_CASE("settings of adapters that cannot be are refused") {
  CHECK_THAT(refusal(with_adapters({.rank = 0})), Contains("rank of adapters is 0"));
  CHECK_THAT(refusal(with_adapters({.rank = 2, .alpha = 0})), Contains("alpha of adapters is 0"));
  CHECK_THAT(refusal(with_adapters({.rank = 2, .dropout = 1})),
             Contains("dropout of adapters is 1"));
  CHECK_THAT(refusal(with_adapters({.rank = 2, .targets = {"fc1", "fc3"}})),
             Contains("target 'fc3'") && Contains("there are: 'body.fc1', 'body.fc2', 'head'"));
  PrepareOptions options = with_adapters();
  options.last_layers = 1;
  CHECK_THAT(refusal(options), Contains("excludes last_layers"));
  options = with_adapters();
  options.init = WeightInit::he_uniform;
  CHECK_THAT(refusal(options), Contains("excludes init"));
  options = with_adapters({.rank = 2, .dropout = 0.5F});
  options.training_mode = false;
  CHECK_THAT(refusal(options), Contains("no effect without training mode"));
}

TEST_CASE("a weight that two nodes read has no adapter, which is said") {
  const auto network = [](bool has_another) {
    ModelBuilder b("shared", 17);
    const std::string w = b.initializer("w", random_floats({4, 4}, 1));
    std::string x = b.input("x", DType::float32, {"N", 4});
    if (has_another) x = b.node("MatMul", {x, b.initializer("own", random_floats({4, 4}, 3))});
    x = b.node("Tanh", {b.node("MatMul", {b.node("Tanh", {b.node("MatMul", {x, w})}), w})});
    x = b.node("MatMul", {x, b.initializer("head", random_floats({4, 3}, 2))});
    b.output(x, DType::float32, {"N", 3});
    return b.bytes();
  };
  CHECK_THROWS_WITH(
      prepare(network(false), with_adapters()),
      Contains("no linear layer for adapters") && Contains("several nodes read ('w')"));
  CHECK_THROWS_WITH(prepare(network(false), with_adapters({.rank = 2, .targets = {"w"}})),
                    Contains("several nodes read the weight 'w'"));
  PrepareReport report;
  for (const auto& targets : {std::vector<std::string>{}, {"all-linear"}}) {
    const Lora lora{.rank = 2, .targets = targets};
    CHECK(modules_of(prepare(network(true), with_adapters(lora), {}, &report)) ==
          std::vector<std::string>{"own"});
    CHECK(std::ranges::count(report.notes,
                             "adapters of rank 2 beside 1 layer; none beside 1 matrix that several "
                             "nodes read ('w'), which an adapter beside one node would change for "
                             "all") == 1);
  }
}

TEST_CASE("layers that the loss does not read have no adapters") {
  ModelBuilder b("two_heads", 17);
  const std::string x = b.node("MatMul", {b.input("x", DType::float32, {"N", 8}),
                                          b.initializer("body.weight", random_floats({8, 6}, 1))});
  b.node("Tanh", {b.node("MatMul", {x, b.initializer("scores.weight", random_floats({6, 4}, 2))})},
         {}, "logits");
  const std::string pooled =
      b.node("MatMul", {x, b.initializer("pooler.dense.weight", random_floats({6, 6}, 3))});
  b.node("Tanh", {pooled}, {}, "pooled");
  b.output("logits", DType::float32, {"N", 4});
  b.output("pooled", DType::float32, {"N", 6});
  const auto bytes = b.bytes();

  PrepareOptions options = with_adapters({.rank = 2});
  CHECK(modules_of(prepare(bytes, options)) == std::vector<std::string>{"body", "scores"});
  options.head = NewHead{.classes = 3};
  CHECK(modules_of(prepare(bytes, options)) == std::vector<std::string>{"body"});
  options.head.reset();
  options.lora->targets = {"pooler.dense"};
  CHECK_THROWS_WITH(prepare(bytes, options),
                    Contains("pooler.dense") && Contains("matches no layer") && Contains("body"));
}
