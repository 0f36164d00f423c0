// Branches whose condition is known when a call is planned.
#include <algorithm>

#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"

namespace ondine::test {
namespace {

using graph::GraphDef;
using graph::ModelDef;
using graph::NodeDef;

std::shared_ptr<const GraphDef> branch(const std::string& name, std::vector<NodeDef> nodes,
                                       const std::string& output) {
  GraphDef graph;
  graph.name = name;
  graph.nodes = std::move(nodes);
  graph.outputs.emplace_back();
  graph.outputs[0].name = output;
  return std::make_shared<const GraphDef>(graph);
}

// Inputs x [N, 2] and on; single: whether N is 1. y = `last`(chosen).
ModelDef model_with(const std::vector<NodeDef>& nodes, const std::string& last = "Neg") {
  ModelDef model;
  model.ir_version = 9;
  model.opsets = {{"", 18}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("x", DType::float32, {"N", std::int64_t{2}}),
                        tensor_value("on", DType::boolean, {})};
  model.graph.outputs.emplace_back(tensor_value("y", DType::float32, {}));
  model.graph.outputs[0].type.dims.reset();
  model.graph.initializers = {{"one", Tensor::of<std::int64_t>({1}, {1}), "", {}},
                              {"first", Tensor::of<std::int64_t>({1}, {0}), "", {}},
                              {"two", Tensor::scalar(2.0F), "", {}}};
  model.graph.nodes = {node("Shape", {"x"}, {"dims"}), node("Gather", {"dims", "first"}, {"n"}),
                       node("Equal", {"n", "one"}, {"single"})};
  for (const NodeDef& one : nodes) model.graph.nodes.push_back(one);
  if (!last.empty()) model.graph.nodes.push_back(node(last, {"chosen"}, {"y"}));
  return model;
}

NodeDef choose(const std::string& condition, std::shared_ptr<const GraphDef> yes,
               std::shared_ptr<const GraphDef> no, const std::string& output = "chosen") {
  return node("If", {condition}, {output},
              {{"then_branch", std::move(yes)}, {"else_branch", std::move(no)}});
}

std::vector<std::string> planned(const ModelDef& def, std::int64_t rows) {
  PlanRequest request;
  request.shapes = {{"x", {rows, 2}}, {"on", {}}};
  std::vector<std::string> ops;
  for (const auto& node : Model::load(encode(def)).plan_report(request).nodes) {
    ops.push_back(node.op);
  }
  return ops;
}
bool has_if(const ModelDef& def, std::int64_t rows) {
  const auto ops = planned(def, rows);
  return std::find(ops.begin(), ops.end(), "If") != ops.end();
}

// y for x = 1, 2, 3, ...
Tensor run(const ModelDef& def, std::int64_t rows, bool on = true) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < 2 * rows; ++i) x.push_back(static_cast<float>(i + 1));
  Model model = Model::load(encode(def));
  return model.infer({{"x", Tensor::of<float>({rows, 2}, x)}, {"on", Tensor::scalar(on)}})[0]
      .second.tensor();
}
std::vector<float> values(const Tensor& tensor) {
  const auto all = tensor.values<float>();
  return {all.begin(), all.end()};
}

using Floats = std::vector<float>;

const auto squeezed = [] { return branch("yes", {node("Squeeze", {"x", "first"}, {"s"})}, "s"); };
const auto doubled = [] { return branch("no", {node("Mul", {"x", "two"}, {"d"})}, "d"); };

}  // namespace

TEST_CASE("a branch chosen by shapes is planned as part of the graph") {
  const ModelDef model = model_with({choose("single", squeezed(), doubled())});
  CHECK_FALSE(has_if(model, 1));
  CHECK_FALSE(has_if(model, 2));
  const Tensor row = run(model, 1);
  CHECK(row.shape() == Shape{2});
  CHECK(values(row) == Floats{-1, -2});
  const Tensor rows = run(model, 2);
  CHECK(rows.shape() == Shape{2, 2});
  CHECK(values(rows) == Floats{-2, -4, -6, -8});
}

TEST_CASE("a model plans other branches for other shapes") {
  const ModelDef def = model_with({choose("single", squeezed(), doubled())});
  Model model = Model::load(encode(def));
  for (const std::int64_t rows : {1, 2, 1, 2}) {
    std::vector<float> x(static_cast<std::size_t>(2 * rows), 3.0F);
    const auto y =
        model.infer({{"x", Tensor::of<float>({rows, 2}, x)}, {"on", Tensor::scalar(false)}})[0];
    CHECK(values(y.second.tensor()) == Floats(x.size(), rows == 1 ? -3.0F : -6.0F));
  }
}

TEST_CASE("branches inside of branches, and those that return a value from outside, are planned") {
  // yes: x + x where N is 1 again, else x; no: x itself.
  const auto inner = choose("single", branch("sum", {node("Add", {"x", "x"}, {"t"})}, "t"),
                            branch("same", {node("Identity", {"x"}, {"i"})}, "i"), "nested");
  const auto yes = branch("yes", {inner, node("Abs", {"nested"}, {"a"})}, "a");
  const auto no = branch("no", {node("Identity", {"x"}, {"i"})}, "i");
  const ModelDef model = model_with({choose("single", yes, no)});
  for (const std::int64_t rows : {1, 2}) CHECK_FALSE(has_if(model, rows));
  CHECK(values(run(model, 1)) == Floats{-2, -4});
  CHECK(values(run(model, 2)) == Floats{-1, -2, -3, -4});
}

TEST_CASE("a branch that is itself the result of a call gives the right values") {
  const auto same = branch("same", {node("Identity", {"x"}, {"i"})}, "i");
  ModelDef model = model_with({choose("single", squeezed(), same, "y")}, "");
  CHECK(values(run(model, 1)) == Floats{1, 2});
  CHECK(values(run(model, 2)) == Floats{1, 2, 3, 4});
}

TEST_CASE("a branch chosen by data, or that draws random numbers, stays a branch") {
  const ModelDef by_data = model_with({choose("on", squeezed(), doubled())});
  CHECK(has_if(by_data, 1));
  CHECK(values(run(by_data, 1, true)) == Floats{-1, -2});
  CHECK(values(run(by_data, 1, false)) == Floats{-2, -4});
  const auto random = branch("random", {node("RandomUniformLike", {"x"}, {"r"})}, "r");
  const ModelDef drawn = model_with({choose("single", random, doubled())});
  CHECK(has_if(drawn, 1));
  CHECK_FALSE(has_if(drawn, 2));
  for (const float v : values(run(drawn, 1))) {
    CHECK(v <= 0);
    CHECK(v > -1);
  }
}

}  // namespace ondine::test
