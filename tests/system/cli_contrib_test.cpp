#include <catch2/catch.hpp>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"

using namespace ondine;  // NOLINT
using cli_test::Workshop;

namespace {

// The network of the workshop with operators that onnxruntime's optimizer writes.
ModelBuilder optimized() {
  ModelBuilder builder("optimized");
  builder.input("x", DType::float32, {"N", std::int64_t{4}});
  builder.initializer("w1", test::random_floats({4, 8}, 1, -0.5F, 0.5F));
  builder.initializer("b1", Tensor(DType::float32, {8}));
  builder.initializer("scale", test::random_floats({8}, 2, 0.5F, 1.5F));
  builder.initializer("w2", test::random_floats({8, 3}, 3, -0.5F, 0.5F));
  builder.node("FusedGemm", "com.microsoft", {"x", "w1", "b1"}, {"h"},
               {{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.1F}});
  builder.node("SimplifiedLayerNormalization", "", {"h", "scale"}, {"n"});
  builder.node("FusedMatMul", "com.microsoft", {"n", "w2"}, {"logits"}, {{"alpha", 1.0F}});
  builder.output("logits", DType::float32, {"N", std::int64_t{3}});
  return builder;
}

}  // namespace

TEST_CASE("info lists the operators of onnxruntime, which train like others") {
  const Workshop shop;
  optimized().save(shop / "optimized.onnx");
  const std::string info = shop.succeed("info optimized.onnx").out;
  CHECK_THAT(info, Catch::Contains("operators of onnxruntime"));
  CHECK_THAT(info, Catch::Contains("  com.microsoft FusedGemm\n"));
  CHECK_THAT(info, Catch::Contains("  ai.onnx SimplifiedLayerNormalization\n"));
  CHECK_THAT(info, !Catch::Contains("ai.onnx Gemm"));
  CHECK_THAT(shop.succeed("info optimized.onnx --json").out,
             Catch::Contains("\"com.microsoft FusedMatMul\""));
  CHECK_THAT(shop.succeed("info net.onnx").out, !Catch::Contains("operators of onnxruntime"));
  shop.succeed(
      "prepare optimized.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
      "--learning-rate 0.02 --init keep --label y");
  shop.succeed("train train.onnx --data data --epochs 10 --batch-size 30 -o trained.onnx");
  CHECK_THAT(shop.succeed("check trained.onnx").err, !Catch::Contains("rror"));
}

TEST_CASE("an operator of com.microsoft that is not supported is refused with its node") {
  const Workshop shop;
  ModelBuilder builder("unknown");
  builder.input("x", DType::float32, {std::int64_t{2}});
  builder.node("BifurcationDetector", "com.microsoft", {"x"}, {"y"});
  builder.output("y", DType::float32, {std::int64_t{2}});
  builder.save(shop / "unknown.onnx");
  shop.refuse("info unknown.onnx",
              "'BifurcationDetector' of 'com.microsoft' version 1, not among the supported ones");
  ModelBuilder attribute("attribute");
  attribute.input("x", DType::float32, {std::int64_t{2}});
  attribute.node("Gelu", "com.microsoft", {"x"}, {"y"}, {{"sharp", std::int64_t{1}}});
  attribute.output("y", DType::float32, {std::int64_t{2}});
  attribute.save(shop / "attribute.onnx");
  shop.refuse("info attribute.onnx", "attribute 'sharp' is not supported");
}
