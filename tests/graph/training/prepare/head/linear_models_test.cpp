// The nodes that linear models of ai.onnx.ml become, for each use of their outputs.
#include "graph/training/prepare/head/linear_models.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using Texts = std::vector<std::string>;

NodeDef linear(const std::string& op, Texts outputs, Attributes more = {}) {
  Attributes attributes{{"coefficients", std::vector<float>{1, 2, 3, 4, 5, 6}}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return node(op, {"x"}, std::move(outputs), std::move(attributes), "ai.onnx.ml");
}

Attributes labels(Attributes more = {}) {
  more.emplace_back("classlabels_ints", std::vector<std::int64_t>{7, 8});
  return more;
}

GraphDef expanded(NodeDef one) {
  ModelDef model;
  model.graph.nodes = {std::move(one)};
  Names names(model);
  expand_linear_models(model.graph, names);
  return std::move(model.graph);
}

Texts operators(const GraphDef& graph) {
  Texts result;
  for (const NodeDef& one : graph.nodes) result.push_back(one.op);
  return result;
}

const Tensor& initializer(const GraphDef& graph, const std::string& part) {
  const auto found = std::find_if(
      graph.initializers.begin(), graph.initializers.end(),
      [&](const InitializerDef& one) { return one.name.find(part) != std::string::npos; });
  REQUIRE(found != graph.initializers.end());
  return found->value;
}

}  // namespace

TEST_CASE("a classifier gives its scores, its labels or both, as they are asked for") {
  const GraphDef both = expanded(linear("LinearClassifier", {"chosen", "scores"}, labels()));
  CHECK(operators(both) == Texts{"Cast", "Reshape", "Gemm", "Identity", "ArgMax", "Gather"});
  CHECK(both.nodes[3].outputs == Texts{"scores"});
  CHECK(both.nodes[5].outputs == Texts{"chosen"});
  const GraphDef chosen = expanded(linear("LinearClassifier", {"chosen"}, labels()));
  CHECK(operators(chosen) == Texts{"Cast", "Reshape", "Gemm", "ArgMax", "Gather"});
  const GraphDef scores = expanded(linear("LinearClassifier", {"", "scores"}, labels()));
  CHECK(operators(scores) == Texts{"Cast", "Reshape", "Gemm", "Identity"});
  CHECK(initializer(chosen, "coefficients").shape() == Shape{2, 3});
  CHECK(initializer(chosen, "intercepts").identical(Tensor(DType::float32, {2})));
  CHECK(initializer(chosen, "labels").identical(Tensor::of<std::int64_t>({2}, {7, 8})));
}

TEST_CASE("scores of a linear model are transformed as it says") {
  const auto last = [](const std::string& transform) {
    return expanded(linear("LinearRegressor", {"y"}, {{"post_transform", transform}})).nodes.back();
  };
  CHECK(last("NONE").op == "Identity");
  CHECK(last("LOGISTIC").op == "Sigmoid");
  CHECK(last("SOFTMAX").op == "Softmax");
  CHECK(std::get<std::int64_t>(find(last("SOFTMAX").attributes, "axis")->data) == 1);
  CHECK(last("NONE").outputs == Texts{"y"});
  CHECK(last("SOFTMAX_ZERO").op == "LinearRegressor");
  CHECK(last("PROBIT").op == "LinearRegressor");
}

TEST_CASE("linear models that are none of matrix and vector stay as they are") {
  const auto stays = [](const NodeDef& one) { return operators(expanded(one)) == Texts{one.op}; };
  const auto regressor = [](Attributes more) {
    return linear("LinearRegressor", {"y"}, std::move(more));
  };
  CHECK_FALSE(stays(regressor({{"targets", std::int64_t{6}}})));
  CHECK(stays(regressor({{"targets", std::int64_t{4}}})));
  CHECK(stays(regressor({{"targets", std::int64_t{0}}})));
  CHECK_FALSE(stays(regressor({{"intercepts", std::vector<float>{1}}})));
  CHECK(stays(regressor({{"intercepts", std::vector<float>{1, 2}}})));
  CHECK(stays(linear("LinearClassifier", {"c", "s"})));
  CHECK(stays(
      linear("LinearClassifier", {"c", "s"}, labels({{"classlabels_strings", Texts{"a", "b"}}}))));
  NodeDef other = regressor({});
  other.domain = "my.own";
  CHECK(stays(other));
  CHECK(stays(linear("Scaler", {"y"})));
  NodeDef empty = regressor({});
  empty.attributes[0] = {"coefficients", std::vector<float>{}};
  CHECK(stays(empty));
}
