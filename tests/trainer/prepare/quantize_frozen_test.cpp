// Frozen weights in few bits: what the file holds, and steps that compute from it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/fusion.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t words = 600;
constexpr std::int64_t width = 256;

// A table of words, a product with a matrix and with one that is transposed, a Gemm, a head.
std::vector<std::byte> network(std::int64_t opset) {
  ModelBuilder b("network", opset);
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return b.initializer(name, random_floats(shape, seed, -0.1F, 0.1F));
  };
  const std::string ids = b.input("ids", DType::int64, {"N"});
  std::string x = b.node("Gather", {weight("table", {words, width}, 1), ids});
  x = b.node("Tanh", {b.node("MatMul", {x, weight("plain", {width, 300}, 2)})});
  const std::string turned = b.node("Transpose", {weight("turned", {280, 300}, 3)});
  x = b.node("Tanh", {b.node("MatMul", {x, turned})});
  x = b.node("Gemm", {x, weight("gemm", {270, 280}, 4), weight("bias", {270}, 5)},
             {{"transB", 1L}});
  b.output(b.node("MatMul", {b.node("Tanh", {x}), weight("head", {270, 7}, 6)}), DType::float32,
           {"N", 7});
  return b.bytes();
}

PrepareOptions options(std::optional<FrozenFormat> format) {
  PrepareOptions options;
  options.loss = Loss::softmax_cross_entropy;
  options.init = WeightInit::keep;
  options.optimizer = Sgd{.learning_rate = 0.5F};
  options.train = {"head", "bias"};
  options.quantize_frozen = format;
  return options;
}

NamedValues batch() {
  Tensor ids(DType::int64, {24});
  Tensor labels(DType::int64, {24});
  for (std::size_t i = 0; i < 24; ++i) {
    ids.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i * 37 % words);
    labels.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i % 7);
  }
  return {{"ids", ids}, {"label", labels}};
}

std::vector<float> losses(Model& model) {
  std::vector<float> result;
  for (int step = 0; step < 5; ++step) {
    result.push_back(model.train_step(batch())["loss"].tensor().item<float>());
  }
  return result;
}

bool fuses() { return std::getenv("ONDINE_NO_FUSION") == nullptr; }

}  // namespace

TEST_CASE("training beside frozen weights of few bits follows that beside float32") {
  Model floats = prepare(network(21), options(std::nullopt));
  const std::vector<float> want = losses(floats);
  const std::uint64_t before = floats.plan(batch(), 0).constant_bytes;
  struct Case {
    FrozenFormat format;
    double part;  // of the bytes of float32
    double tolerance;
    double error;
  };
  for (const Case& one :
       {Case{DType::int8, 0.3, 0.002, 0.01}, Case{DType::int4, 0.18, 0.05, 0.12},
        Case{FrozenFormat::nf4(), 0.165, 0.05, 0.12}, Case{DType::bfloat16, 0.52, 0.002, 0.01}}) {
    PrepareReport report;
    Model model = prepare(network(21), options(one.format), {}, &report);
    REQUIRE(report.quantized.size() == 4);
    CHECK(report.quantized[0].name == "table");
    CHECK(report.quantized[0].bytes_before == words * width * 4);
    CHECK(report.trained == std::vector<std::string>{"bias", "head"});
    for (const QuantizedWeight& weight : report.quantized) {
      CHECK(weight.error > 0);
      CHECK(weight.error < one.error);
    }
    const std::vector<float> got = losses(model);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(std::abs(double{got[i]} - double{want[i]}) < one.tolerance * double{want[i]});
    }
    CHECK(got.back() < got.front());
    if (!fuses()) continue;
    const double after = static_cast<double>(model.plan(batch(), 0).constant_bytes);
    CHECK(after < one.part * static_cast<double>(before));
    const std::string text = model.inspect("optimized");
    CHECK(text.find("DequantizeMatMul-") != std::string::npos);
    CHECK(text.find("DequantizeGather-") != std::string::npos);
    CHECK(text.find("DequantizeLinear-") == std::string::npos);
  }
}

TEST_CASE("weights read as they are stored give the bits of weights dequantized first") {
  LoadOptions load;
  load.precision = GENERATE(Precision::float32, Precision::bfloat16);
  for (const FrozenFormat& format : {FrozenFormat(DType::int8), FrozenFormat(DType::int4),
                                     FrozenFormat::nf4(), FrozenFormat(DType::bfloat16)}) {
    load.no_fusion = {};
    Model fused = prepare(network(21), options(format), load);
    load.no_fusion = {Fusion::fuse_quantized};
    Model plain = prepare(network(21), options(format), load);
    CHECK(losses(fused) == losses(plain));
    CHECK(fused.get_state("head").identical(plain.get_state("head")));
  }
}

TEST_CASE("a deep matrix read as it is stored gives the bits of one dequantized first") {
  constexpr std::int64_t depth = 4500;
  ModelBuilder b("deep", 21);
  const std::string x = b.input("x", DType::float32, {"N", depth});
  const std::string y =
      b.node("MatMul", {x, b.initializer("frozen", random_floats({depth, 270}, 1, -0.1F, 0.1F))});
  b.output(b.node("MatMul", {y, b.initializer("head", random_floats({270, 7}, 2, -0.1F, 0.1F))}),
           DType::float32, {"N", 7});
  PrepareOptions prepared = options(FrozenFormat(DType::int8));
  prepared.train = {"head"};
  LoadOptions load;
  load.precision = GENERATE(Precision::float32, Precision::bfloat16);
  Model fused = prepare(b.bytes(), prepared, load);
  load.no_fusion = {Fusion::fuse_quantized};
  Model plain = prepare(b.bytes(), prepared, load);
  const NamedValues rows{{"x", random_floats({24, depth}, 3)}, {"label", batch()[1].second}};
  const float loss = fused.train_step(rows)["loss"].tensor().item<float>();
  CHECK(loss == plain.train_step(rows)["loss"].tensor().item<float>());
  CHECK(fused.get_state("head").identical(plain.get_state("head")));
}

TEST_CASE("weights of 4 bits that lie in a file are read there, and written as they are") {
  const TemporaryFolder folder;
  for (const FrozenFormat& format : {FrozenFormat(DType::int4), FrozenFormat::nf4()}) {
    for (const bool external : {false, true}) {
      ExportOptions written;
      if (external) written.external_data_from = 1000;
      Model made = prepare(network(21), options(format));
      made.export_training(folder / "model.onnx", written);
      Model model = Model::load(folder / "model.onnx");
      const Model untrained = prepare(network(21), options(format));
      CHECK(losses(model) == losses(made));
      if (fuses()) {
        // Packed elements, scales, and what else is constant.
        constexpr double elements = words * width + width * 300 + 280 * 300 + 270 * 280;
        const double part = format.is_nf4() ? 0.5 + 4 / 64.0 : 0.5 + 4 / 32.0;
        CHECK(static_cast<double>(model.plan(batch(), 0).constant_bytes) < 1.05 * part * elements);
      }
      // Weights that nothing has changed are written with the same bytes, also once they are
      // unpacked.
      const std::vector<std::byte> bytes = prepare(network(21), options(format)).export_training();
      CHECK(Model::load(folder / "model.onnx").export_training() == bytes);
      LoadOptions plain;
      plain.no_fusion.assign(all_fusions().begin(), all_fusions().end());
      const Model unpacked = Model::load(folder / "model.onnx", plain);
      const NamedValues ids{{"ids", batch()[0].second}};
      CHECK(unpacked.infer(ids)[0].second.tensor().identical(
          untrained.infer(ids)[0].second.tensor()));
      CHECK(unpacked.export_training() == bytes);
    }
  }
}

TEST_CASE("the number of bytes that a report gives is that of the file") {
  const TemporaryFolder folder;
  const auto size_of_file = [&](std::optional<FrozenFormat> format) {
    prepare(network(21), options(format)).export_training(folder / "model.onnx");
    return static_cast<double>(std::filesystem::file_size(folder / "model.onnx"));
  };
  PrepareReport report;
  prepare(network(21), options(DType::int4), {}, &report);
  double saved = 0;
  for (const QuantizedWeight& one : report.quantized) {
    saved += static_cast<double>(one.bytes_before) - static_cast<double>(one.bytes_after);
  }
  CHECK(size_of_file(std::nullopt) - size_of_file(DType::int4) == Approx(saved).epsilon(0.01));
}

TEST_CASE("older models get a scale for each column, or are refused") {
  Model floats = prepare(network(17), options(std::nullopt));
  Model model = prepare(network(17), options(DType::int8));
  const std::vector<float> want = losses(floats);
  const std::vector<float> got = losses(model);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(std::abs(double{got[i]} - double{want[i]}) < 0.005 * double{want[i]});
  }
  CHECK_THROWS_WITH(prepare(network(12), options(DType::int4)),
                    Catch::Contains("frozen weights of int4 need ai.onnx 13, the model imports "
                                    "ai.onnx 12"));
  CHECK_THROWS_WITH(prepare(network(12), options(DType::bfloat16)),
                    Catch::Contains("need ai.onnx 13"));
  CHECK_THROWS_WITH(prepare(network(21), options(DType::float16)),
                    Catch::Contains("quantize_frozen is float16, needed: int8, int4, nf4 or "
                                    "bfloat16"));
}

TEST_CASE("weights that something else reads, and weights that train, stay as they are") {
  ModelBuilder b("network", 21);
  const Tensor w = random_floats({64, 64}, 1);
  const std::string x = b.input("x", DType::float32, {"N", 64});
  const std::string shared = b.initializer("shared", w);
  const std::string first = b.initializer("first", random_floats({64, 64}, 2));
  const std::string y = b.node("MatMul", {b.node("MatMul", {x, first}), shared});
  b.output(b.node("Add", {y, b.node("ReduceSum", {shared})}), DType::float32, {"N", 64});
  PrepareOptions all = options(DType::int8);
  all.loss = Loss::mse;
  all.train = {"first"};
  PrepareReport report;
  Model model = prepare(b.bytes(), all, {}, &report);
  CHECK(report.quantized.empty());
  CHECK(model.get_state("first").dtype() == DType::float32);
}

TEST_CASE("models of older operator sets train beside weights of 4 bits as those of version 21") {
  for (const FrozenFormat& format : {FrozenFormat(DType::int4), FrozenFormat::nf4()}) {
    Model recent = prepare(network(21), options(format));
    const std::vector<float> want = losses(recent);
    for (const std::int64_t opset : {13, 17, 20}) {
      CAPTURE(opset);
      PrepareReport report;
      Model model = prepare(network(opset), options(format), {}, &report);
      CHECK(losses(model) == want);
      CHECK_THAT(
          report.notes.back(),
          Catch::Contains("need ai.onnx 21: the import was raised from " + std::to_string(opset)));
    }
  }
}
