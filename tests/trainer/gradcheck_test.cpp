#include <ondine/gradcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
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

namespace {

using graph::Attributes;
using NodeDefs = std::vector<graph::NodeDef>;

void write_bytes(const std::filesystem::path& file, const std::vector<std::byte>& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

NodeDefs gradient_penalty() {
  const std::vector<std::string> x{"x"};
  const std::vector<std::string> w{"w"};
  // The sum of tanh(y) is read by the inner Gradient alone, and by its name.
  return {test::node("Tanh", {"y"}, {"a"}),
          test::node("ReduceSum", {"a"}, {"total"}, {{"keepdims", std::int64_t{0}}}),
          test::node("Gradient", {"x", "w"}, {"dx"},
                     Attributes{{"xs", x}, {"zs", w}, {"y", std::string("total")}},
                     "ai.onnx.preview.training"),
          test::node("ReduceSumSquare", {"dx"}, {"loss"}, {{"keepdims", std::int64_t{0}}}),
          test::node("Gradient", {"w", "x"}, {"dw"},
                     Attributes{{"xs", w}, {"zs", x}, {"y", std::string("loss")}},
                     "ai.onnx.preview.training"),
          test::node("Sub", {"w", "dw"}, {"w_new"})};
}

// y = x w, trained by `step`.
graph::ModelDef trained_line(NodeDefs step) {
  graph::ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}, {"ai.onnx.preview.training", 1}};
  model.graph.name = "line";
  model.graph.inputs = {
      test::tensor_value("x", DType::float32, {graph::DimName("N"), std::int64_t{2}})};
  model.graph.outputs = {
      test::tensor_value("y", DType::float32, {graph::DimName("N"), std::int64_t{1}})};
  model.graph.initializers = {{"w", Tensor::of<float>({2, 1}, {0.5F, -0.25F}), {}, {}}};
  model.graph.nodes = {test::node("MatMul", {"x", "w"}, {"y"})};
  graph::TrainingInfoDef& info = model.training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->nodes = std::move(step);
  info.algorithm->outputs = {
      test::tensor_value("w_new", DType::float32, {std::int64_t{2}, std::int64_t{1}})};
  info.update_binding = {{"w", "w_new"}};
  return model;
}

}  // namespace

TEST_CASE("the derivative of a derivative is checked") {
  const TemporaryFolder folder;
  write_bytes(folder / "m.onnx", encode(trained_line(gradient_penalty())));
  const ondine::GradientCheck gradients(folder / "m.onnx");
  CHECK(gradients.widened());
  const double x[2][2] = {{1, 2}, {-0.5, 0.75}};
  const auto results =
      gradients.run({{"x", Tensor::of<double>({2, 2}, {x[0][0], x[0][1], x[1][0], x[1][1]})}});
  REQUIRE(results.size() == 1);
  CHECK(results[0].variable == "w");
  CHECK(results[0].passed);
  CHECK(results[0].analytic != 0);
  CHECK(std::abs(results[0].analytic) == Approx(std::abs(results[0].numeric)).epsilon(1e-6));
}

TEST_CASE("numbers that a call gives its function are checked in float64") {
  const TemporaryFolder folder;
  graph::ModelDef model =
      trained_line({test::node("Scaled", {"y"}, {"s"}, {{"by", 0.5F}}, "test"),
                    test::node("ReduceSumSquare", {"s"}, {"loss"}, {{"keepdims", std::int64_t{0}}}),
                    test::node("Gradient", {"w", "x"}, {"dw"},
                               Attributes{{"xs", std::vector<std::string>{"w"}},
                                          {"zs", std::vector<std::string>{"x"}},
                                          {"y", std::string("loss")}},
                               "ai.onnx.preview.training"),
                    test::node("Sub", {"w", "dw"}, {"w_new"})});
  model.opsets.push_back({"test", 1});
  graph::FunctionDef& function = model.functions.emplace_back();
  function.name = "Scaled";
  function.domain = "test";
  function.inputs = {"given"};
  function.outputs = {"result"};
  function.attributes = {"by"};
  function.opsets = {{"", 17}};
  graph::NodeDef constant = test::node("Constant", {}, {"factor"});
  graph::Attribute& value = constant.attributes.emplace_back();
  value.name = "value_float";
  value.kind = graph::AttributeKind::real;
  value.ref = std::string("by");
  function.nodes = {constant, test::node("Mul", {"given", "factor"}, {"result"})};
  write_bytes(folder / "m.onnx", encode(model));
  const ondine::GradientCheck gradients(folder / "m.onnx");
  CHECK(gradients.widened());
  const auto results = gradients.run({{"x", Tensor::of<double>({2, 2}, {1, 2, -0.5, 0.75})}});
  REQUIRE(results.size() == 1);
  CHECK(results[0].passed);
}
