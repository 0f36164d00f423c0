// Preparing in memory.
#include <ondine/data_record.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>

#include <ondine/build.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

ModelBuilder network(const Tensor& w) {
  ModelBuilder b("network");
  const std::string x = b.input("x", DType::float32, {"N", 4});
  b.node("Gemm", {x, b.initializer("w", w), b.initializer("b", Tensor(DType::float32, {3}))}, {},
         "logits");
  b.output("logits", DType::float32, {"N", 3});
  return b;
}

NamedValues batch() {
  return {{"x", random_floats({5, 4}, 2)},
          {"label", Tensor::of<std::int64_t>({5}, {0, 1, 2, 1, 0})}};
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<float> after_steps(Model& model) {
  for (int i = 0; i < 5; ++i) model.train_step(batch());
  return model.parameters();
}

}  // namespace

TEST_CASE("a model is prepared alike from a file, from bytes, from a model and into a file") {
  const TemporaryFolder folder;
  const ModelBuilder builder = network(random_floats({4, 3}, 1));
  builder.save(folder / "net.onnx");
  const PrepareOptions options{.optimizer = AdamW{.learning_rate = 0.05F, .weight_decay = 0.1F}};
  PrepareReport report;
  Model from_file = prepare(folder / "net.onnx", options, {}, &report);
  CHECK(report.trained == std::vector<std::string>{"w", "b"});
  CHECK(report.loss == "loss");
  Model from_bytes = prepare(builder.bytes(), options);
  const Model loaded = Model::load(builder.bytes());
  Model from_model = prepare(loaded, options);
  prepare(folder / "net.onnx", folder / "train.onnx", options);
  Model through_file = Model::load(folder / "train.onnx");
  CHECK(from_file.export_training() == through_file.export_training());
  const auto want = after_steps(through_file);
  CHECK(after_steps(from_file) == want);
  CHECK(after_steps(from_bytes) == want);
  CHECK(after_steps(from_model) == want);
  CHECK(from_file.fingerprint() == through_file.fingerprint());
}

TEST_CASE("a model that was trained is prepared anew with the weights it has now") {
  Model first = prepare(network(random_floats({4, 3}, 1)).bytes());
  after_steps(first);
  CHECK_THROWS_WITH(prepare(first), Catch::Contains("already has training information"));
  const Model inference = Model::load(first.export_inference());
  const Model second = prepare(inference, {.optimizer = Adam{}});
  CHECK(second.parameters() == first.parameters());
}

TEST_CASE("exports in memory are the files' bytes") {
  const TemporaryFolder folder;
  Model model = prepare(network(random_floats({4, 3}, 1)).bytes());
  after_steps(model);
  model.export_training(folder / "train.onnx");
  const Model again = Model::load(folder / "train.onnx");
  CHECK(again.parameters() == model.parameters());
  CHECK(again.export_training() == model.export_training());
  const Model inference = Model::load(model.export_inference());
  CHECK(inference.algorithm_count() == 0);
  const Tensor x = random_floats({2, 4}, 7);
  CHECK(inference.infer({{"x", x}})["logits"].tensor().identical(
      model.infer({{"x", x}})["logits"].tensor()));
}

TEST_CASE("trained weights are kept and others are drawn, unless it is said otherwise") {
  const Tensor trained = random_floats({4, 3}, 1);
  const Tensor zeros(DType::float32, {4, 3});
  PrepareReport report;
  const Model kept = prepare(network(trained).bytes(), {}, {}, &report);
  CHECK(kept.get_state("w").identical(trained));
  CHECK(report.init == WeightInit::keep);
  CHECK(report.init_reason == "the model has been trained: elements of 'w' differ");

  const Model drawn = prepare(network(zeros).bytes(), {}, {.seed = 3}, &report);
  CHECK(report.init == WeightInit::he_uniform);
  CHECK(report.init_reason == "the model has not been trained: no weight has elements that differ");
  const Tensor weights = drawn.get_state("w");
  float largest = 0;
  for (const float w : weights.values<float>()) largest = std::max(largest, std::abs(w));
  CHECK(largest > 0.5F);
  CHECK(largest <= std::sqrt(6.0F / 4));  // fan in is 4
  CHECK(drawn.seed() == 3);

  // One trained weight among others is enough, and an option is the last word.
  ModelBuilder mixed = network(trained);
  mixed.node("Gemm", {"logits", mixed.initializer("head", Tensor(DType::float32, {3, 2}))}, {},
             "y");
  mixed.output("y", DType::float32, {"N", 2});
  const Model both = prepare(mixed.bytes(), {.output = "y"}, {}, &report);
  CHECK(report.init == WeightInit::keep);
  CHECK(both.get_state("head").identical(Tensor(DType::float32, {3, 2})));
  const Model forced = prepare(network(trained).bytes(), {.init = WeightInit::zeros}, {}, &report);
  CHECK(report.init_reason.empty());
  CHECK(forced.get_state("w").identical(zeros));
}

TEST_CASE("initialize restores imported weights where they are kept") {
  const Tensor trained = random_floats({4, 3}, 1);
  Model model = prepare(network(trained).bytes());
  after_steps(model);
  CHECK_FALSE(model.get_state("w").identical(trained));
  model.initialize(17);
  CHECK(model.get_state("w").identical(trained));
}

TEST_CASE("metadata records what a model was prepared for") {
  const auto value = [](const Model& model, const std::string& name) -> std::string {
    for (const auto& [key, text] : model.metadata()) {
      if (key == name) return text;
    }
    return "none";
  };
  const Model model = prepare(network(random_floats({4, 3}, 1)).bytes(),
                              {.loss = Loss::bce_with_logits, .label = "truth"});
  CHECK(data_record(model).prediction.loss == "bce");
  CHECK(data_record(model).prediction.value == "logits");
  CHECK(data_record(model).prediction.label == "truth");
  CHECK(value(model, "ondine.learning_rate") == "learning_rate");
  const Model inference = Model::load(model.export_inference());
  CHECK(data_record(inference).prediction.loss == "bce");
  CHECK(value(inference, "ondine.learning_rate") == "none");
}

TEST_CASE("external data of bytes comes from a function") {
  const TemporaryFolder folder;
  const Tensor w = random_floats({4, 3}, 1);
  const Model model = Model::load(network(w).bytes());
  model.export_inference(folder / "m.onnx", {.external_data_from = 1});
  const std::string text = read_file(folder / "m.onnx");
  const std::span bytes = std::as_bytes(std::span(text));
  CHECK_THROWS_WITH(Model::load(bytes), Catch::Contains("LoadOptions::external_data"));

  std::vector<ExternalDataRequest> requests;
  LoadOptions load;
  load.external_data = [&](const ExternalDataRequest& request) {
    requests.push_back(request);
    const std::string data = read_file(folder / request.location);
    std::vector<std::byte> part(request.length);
    std::memcpy(part.data(), data.data() + request.offset, part.size());
    return part;
  };
  const Model again = Model::load(bytes, load);
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].length == 48);
  CHECK(requests[1].offset == 4096);
  const Tensor x = random_floats({2, 4}, 7);
  CHECK(again.infer({{"x", x}})[0].second.tensor().identical(
      model.infer({{"x", x}})[0].second.tensor()));
  const Model prepared = prepare(bytes, {}, load);
  CHECK(prepared.get_state("w").identical(w));

  load.external_data = [](const ExternalDataRequest&) { return std::vector<std::byte>(5); };
  CHECK_THROWS_WITH(Model::load(bytes, load),
                    Catch::Contains("gave 5 bytes") && Catch::Contains("needed are 48"));
  load.external_data = [](const ExternalDataRequest&) -> std::vector<std::byte> {
    throw Error(ErrorCode::io, "no network");
  };
  CHECK_THROWS_WITH(Model::load(bytes, load), Catch::Contains("no network"));
}
