// Bodies that do not fit the node that has them, and values that change in a way they must not.
#include <catch2/catch.hpp>
#include <functional>

#include <ondine/error.h>
#include <ondine/model.h>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;
using Catch::Contains;

namespace {

ValueDef any(const std::string& name, DType dtype = DType::float32) {
  ValueDef value = tensor_value(name, dtype, {});
  value.type.dims.reset();
  return value;
}

GraphDef graph_of(std::vector<ValueDef> inputs, std::vector<NodeDef> nodes,
                  std::vector<ValueDef> outputs) {
  GraphDef graph;
  graph.name = "body";
  graph.inputs = std::move(inputs);
  graph.nodes = std::move(nodes);
  graph.outputs = std::move(outputs);
  return graph;
}

std::shared_ptr<const GraphDef> body(GraphDef graph) {
  return std::make_shared<const GraphDef>(std::move(graph));
}

// One node with the feeds "x" [2, 3], "z" [4, 3], "n" = 2 and "yes".
std::string refusal(NodeDef control, std::vector<ValueDef> outputs) {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 18}};
  model.graph =
      graph_of({tensor_value("x", DType::float32, {std::int64_t{2}, std::int64_t{3}}),
                tensor_value("z", DType::float32, {std::int64_t{4}, std::int64_t{3}}),
                tensor_value("n", DType::int64, {}), tensor_value("yes", DType::boolean, {})},
               {std::move(control)}, std::move(outputs));
  model.graph.initializers = {{"axis", Tensor::of<std::int64_t>({1}, {0}), "", {}},
                              {"two", Tensor::of<std::int64_t>({2}, {1, 2}), "", {}}};
  try {
    Model::load(encode(model))
        .infer({{"x", Tensor(DType::float32, {2, 3})},
                {"z", Tensor(DType::float32, {4, 3})},
                {"n", Tensor::scalar(std::int64_t{2})},
                {"yes", Tensor::scalar(true)}});
  } catch (const Error& error) {
    CHECK(error.code() != ErrorCode::internal);
    return error.what();
  }
  return "";
}

// A state that `change` changes, and a row of x.
NodeDef scan(std::vector<std::string> inputs, const NodeDef& change,
             std::vector<std::string> outputs, std::vector<ValueDef> results,
             std::int64_t scans = 1) {
  std::vector<ValueDef> formals;
  for (std::size_t i = 0; i < inputs.size(); ++i) formals.push_back(any("f" + std::to_string(i)));
  return node("Scan", std::move(inputs), std::move(outputs),
              {{"num_scan_inputs", scans},
               {"body", body(graph_of(formals, {change, node("Identity", {"f1"}, {"row"})},
                                      std::move(results)))}});
}

NodeDef loop(const std::string& count, const std::vector<NodeDef>& nodes,
             std::vector<ValueDef> results, std::vector<std::string> outputs) {
  std::vector<NodeDef> all{node("Identity", {"going"}, {"go_on"})};
  all.insert(all.end(), nodes.begin(), nodes.end());
  results.insert(results.begin(), any("go_on", DType::boolean));
  return node(
      "Loop", {count, "", "x"}, std::move(outputs),
      {{"body", body(graph_of({any("i", DType::int64), any("going", DType::boolean), any("v")}, all,
                              std::move(results)))}});
}

NodeDef branches(const std::string& condition, std::vector<ValueDef> then_outputs,
                 std::vector<ValueDef> else_outputs, std::vector<std::string> outputs) {
  const auto branch = [](std::vector<ValueDef> results, const std::string& op) {
    std::vector<NodeDef> nodes;
    for (ValueDef& one : results) {
      one.name = op + one.name;
      nodes.push_back(node(op, {"x"}, {one.name}));
    }
    return body(graph_of({}, nodes, results));
  };
  return node("If", {condition}, std::move(outputs),
              {{"then_branch", branch(std::move(then_outputs), "Neg")},
               {"else_branch", branch(std::move(else_outputs), "Abs")}});
}

}  // namespace

TEST_CASE("a Scan refuses inputs of other lengths, too few results and states of other types") {
  const NodeDef add = node("Add", {"f0", "f1"}, {"s"});
  const std::vector<ValueDef> results{any("s"), any("row")};
  CHECK(refusal(scan({"x", "x"}, add, {"y", "rows"}, results), {any("y"), any("rows")}).empty());
  CHECK_THAT(
      refusal(scan({"x", "x", "z"}, node("Add", {"f0", "f1"}, {"s"}), {"y", "rows"}, results, 2),
              {any("y")}),
      Contains("lengths of the scan inputs differ: 2 and 4"));
  CHECK_THAT(refusal(scan({"x", "x"}, add, {"y", "rows", "more"}, results), {any("y")}),
             Contains("has a graph 'body' with 2 outputs, the operator needs 3"));
  CHECK_THAT(refusal(scan({"x", "x"}, node("Cast", {"f0"}, {"s"}, {{"to", std::int64_t{7}}}),
                          {"y", "rows"}, {any("s", DType::int64), any("row")}),
                     {any("y", DType::int64)}),
             Contains("state 0 is a tensor(float)[2, 3] before and a "));
}

TEST_CASE("a Loop refuses counts of two numbers, and results that are too few or change") {
  const NodeDef keep = node("Neg", {"v"}, {"w"});
  const NodeDef grow = node("Concat", {"v", "x"}, {"w"}, {{"axis", std::int64_t{0}}});
  const NodeDef row = node("Identity", {"w"}, {"row"});
  const std::vector<ValueDef> results{any("w"), any("row")};
  CHECK(refusal(loop("n", {keep, row}, results, {"y", "rows"}), {any("y"), any("rows")}).empty());
  CHECK(refusal(loop("n", {grow}, {any("w")}, {"y"}), {any("y")}).empty());
  CHECK_THAT(refusal(loop("two", {keep, row}, results, {"y", "rows"}), {any("y")}),
             Contains("the trip count"));
  CHECK_THAT(refusal(loop("n", {keep, row}, results, {"y", "rows", "more"}), {any("y")}),
             Contains("has a graph 'body' with 3 outputs, the operator needs 4"));
  CHECK_THAT(refusal(loop("n", {grow, row}, results, {"y", "rows"}), {any("y"), any("rows")}),
             Contains("a scan output has shape [4, 3] in iteration 0 and [6, 3] in iteration 1"));
  const NodeDef cast = node("Cast", {"v"}, {"w"}, {{"to", std::int64_t{7}}});
  CHECK_THAT(refusal(loop("n", {cast}, {any("w", DType::int64)}, {"y"}), {any("y", DType::int64)}),
             Contains("carried value 0 is a tensor(float)[2, 3] before and a tensor(int64)[2, 3] "
                      "after an iteration"));
}

TEST_CASE("an If refuses branches of other numbers of results and conditions of other types") {
  CHECK(refusal(branches("yes", {any("a")}, {any("a")}, {"y"}), {any("y")}).empty());
  CHECK_THAT(refusal(branches("yes", {any("a"), any("b")}, {any("a")}, {"y"}), {any("y")}),
             Contains("has branches with 2 and 1 outputs"));
  CHECK_THAT(refusal(branches("yes", {any("a")}, {any("a")}, {"y", "more"}), {any("y")}),
             Contains("has a graph 'then_branch' with 1 outputs, the operator needs 2"));
  CHECK_FALSE(refusal(branches("n", {any("a")}, {any("a")}, {"y"}), {any("y")}).empty());
}
