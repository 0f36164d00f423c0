#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

// y = nodes(a, b) on double vectors of 3; returns the outputs `names`.
NamedValues run(std::vector<NodeDef> nodes, const std::vector<std::string>& names,
                const std::vector<double>& a, const std::vector<double>& b) {
  ModelDef model;
  model.ir_version = 9;
  model.opsets = {{"", 18}, {"ai.onnx.preview.training", 1}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("a", DType::float64, {std::int64_t{3}}),
                        tensor_value("b", DType::float64, {std::int64_t{3}})};
  for (const auto& name : names) {
    model.graph.outputs.push_back(tensor_value(name, DType::float64, {std::int64_t{3}}));
  }
  model.graph.nodes = std::move(nodes);
  const Model loaded = Model::load(encode(model));
  return loaded.infer(
      NamedValues{{"a", Tensor::of<double>({3}, a)}, {"b", Tensor::of<double>({3}, b)}});
}

NodeDef gradient(std::vector<std::string> inputs, std::vector<std::string> outputs,
                 std::vector<std::string> xs, const std::string& y) {
  return node("Gradient", std::move(inputs), std::move(outputs), {{"xs", std::move(xs)}, {"y", y}},
              "ai.onnx.preview.training");
}

const std::vector<double> a{1, 2, 3};
const std::vector<double> b{4, 5, 6};

}  // namespace

TEST_CASE("the gradient of a product is the other factor") {
  const auto out =
      run({node("Mul", {"a", "b"}, {"y"}), gradient({"a", "b"}, {"da", "db"}, {"a", "b"}, "y")},
          {"da", "db"}, a, b);
  check_close(out[0].second.tensor(), Tensor::of<double>({3}, b));
  check_close(out[1].second.tensor(), Tensor::of<double>({3}, a));
}

TEST_CASE("a tensor used twice collects both parts") {
  const auto out =
      run({node("Mul", {"a", "a"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"}, a, b);
  check_close(out[0].second.tensor(), Tensor::of<double>({3}, {2, 4, 6}));
}

TEST_CASE("a derivative may be taken at another value") {
  const auto out =
      run({node("Mul", {"a", "a"}, {"y"}), gradient({"b"}, {"da"}, {"a"}, "y")}, {"da"}, a, b);
  check_close(out[0].second.tensor(), Tensor::of<double>({3}, {8, 10, 12}));
}

TEST_CASE("a gradient of a gradient is the second derivative") {
  const auto out = run({node("Mul", {"a", "a"}, {"aa"}), node("Mul", {"aa", "a"}, {"y"}),
                        gradient({"a"}, {"da"}, {"a"}, "y"), gradient({"a"}, {"dda"}, {"a"}, "da")},
                       {"da", "dda"}, a, b);
  check_close(out[0].second.tensor(), Tensor::of<double>({3}, {3, 12, 27}));
  check_close(out[1].second.tensor(), Tensor::of<double>({3}, {6, 12, 18}));
}

TEST_CASE("the gradient with respect to an independent tensor is zero") {
  const auto out =
      run({node("Identity", {"b"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"}, a, b);
  check_close(out[0].second.tensor(), Tensor::of<double>({3}, {0, 0, 0}));
}

TEST_CASE("an intermediate tensor cuts the graph") {
  const auto out = run({node("Mul", {"a", "b"}, {"m"}), node("Mul", {"m", "a"}, {"y"}),
                        gradient({"m"}, {"dm"}, {"m"}, "y")},
                       {"dm"}, a, b);
  check_close(out[0].second.tensor(), Tensor::of<double>({3}, a));
}
