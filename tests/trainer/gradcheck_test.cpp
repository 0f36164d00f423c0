#include <ondine/gradcheck.h>

#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// The mean of (op(x w) - label)^2 with w of one element.
std::vector<GradcheckResult> check(const std::string& op, float w, bool widen,
                                   double perturbation = 0) {
  const TemporaryFolder folder;
  ModelBuilder b("one");
  b.input("x", DType::float32, {"N", 1});
  b.node("MatMul", {"x", b.initializer("w", Tensor::of<float>({1, 1}, {w}))}, {}, "h");
  b.node(op, {"h"}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  b.save(folder / "m.onnx");
  prepare(folder / "m.onnx", folder / "m.onnx", {.loss = Loss::mse});
  const ondine::GradientCheck gradients(folder / "m.onnx",
                                        {.widen = widen, .perturbation = perturbation});
  CHECK(gradients.widened() == widen);
  NamedValues feeds{{"x", Tensor::of<float>({2, 1}, {1, 2})},
                    {"label", Tensor::of<float>({2, 1}, {1, -1})}};
  if (widen) {
    feeds[0].second = Tensor::of<double>({2, 1}, {1, 2});
    feeds[1].second = Tensor::of<double>({2, 1}, {1, -1});
  }
  return gradients.run(feeds);
}

}  // namespace

TEST_CASE("derivatives of a smooth loss pass, with the number computed by hand") {
  const bool widen = GENERATE(true, false);
  const auto results = check("Tanh", 0.5F, widen);
  REQUIRE(results.size() == 1);
  double want = 0;
  for (const auto& [x, t] : {std::pair{1.0, 1.0}, std::pair{2.0, -1.0}}) {
    const double y = std::tanh(0.5 * x);
    want += (y - t) * (1 - y * y) * x;
  }
  CHECK(results[0].variable == "w");
  CHECK(results[0].passed);
  CHECK(std::abs(results[0].analytic) == Approx(std::abs(want)).epsilon(1e-5));
  CHECK(std::abs(results[0].numeric) == Approx(std::abs(want)).epsilon(widen ? 1e-6 : 1e-2));
}

TEST_CASE("a derivative that differs from the difference quotient does not pass") {
  // Relu at 0: the slope is 0 on one side and 1 on the other, the central difference half of that.
  const auto results = check("Relu", 0, true);
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].passed);
  CHECK(results[0].error > 0.4);
  CHECK(results[0].kink);
  const auto beside = check("Relu", 0, true, 0.1);
  CHECK(beside[0].passed);
  CHECK_FALSE(beside[0].kink);
}

TEST_CASE("an operator after the outputs of the step does not keep a model from float64") {
  const TemporaryFolder folder;
  ModelBuilder b("one");
  b.input("x", DType::float32, {"N", 2});
  b.node("MatMul", {"x", b.initializer("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}))}, {}, "y");
  // ZipMap makes maps of float32 only.
  b.node("Softmax", {"y"}, {}, "p");
  b.node("ZipMap", "ai.onnx.ml", {"p"}, {"maps"},
         {{"classlabels_int64s", std::vector<std::int64_t>{0, 1}}});
  b.output("y", DType::float32, {"N", 2});
  b.save(folder / "m.onnx");
  prepare(folder / "m.onnx", folder / "m.onnx", {.loss = Loss::mse});
  const ondine::GradientCheck gradients(folder / "m.onnx");
  CHECK(gradients.widened());
  const auto results = gradients.run(
      {{"x", Tensor::of<double>({1, 2}, {1, 2})}, {"label", Tensor::of<double>({1, 2}, {1, -1})}});
  REQUIRE(results.size() == 1);
  CHECK(results[0].passed);
}

TEST_CASE("a derivative beside a kink passes with a step that does not reach it") {
  const auto results = check("Relu", 3e-7F, true);
  REQUIRE(results.size() == 1);
  CHECK(results[0].passed);
  CHECK(results[0].kink);
  CHECK(std::abs(results[0].analytic) == Approx(1).epsilon(1e-5));
  const auto far = check("Relu", 0.5F, true);
  CHECK(far[0].passed);
  CHECK_FALSE(far[0].kink);
}

TEST_CASE("a model with Resize is checked in float64, its scales staying float32") {
  const TemporaryFolder folder;
  ModelBuilder b("one");
  b.input("x", DType::float32, {1, 1, 2});
  b.node("Mul", {"x", b.initializer("w", Tensor::of<float>({2}, {0.5F, -2}))}, {}, "h");
  const std::string scales = b.initializer("scales", Tensor::of<float>({3}, {1, 1, 2}));
  b.node("Resize", {"h", "", scales}, {{"mode", std::string("linear")}}, "y");
  b.output("y", DType::float32, {1, 1, 4});
  b.save(folder / "m.onnx");
  prepare(folder / "m.onnx", folder / "m.onnx", {.loss = Loss::mse});
  const ondine::GradientCheck gradients(folder / "m.onnx");
  CHECK(gradients.widened());
  const auto results = gradients.run({{"x", Tensor::of<double>({1, 1, 2}, {1, 3})},
                                      {"label", Tensor::of<double>({1, 1, 4}, {1, -1, 2, 0})}});
  REQUIRE(results.size() == 1);
  CHECK(results[0].passed);
}
