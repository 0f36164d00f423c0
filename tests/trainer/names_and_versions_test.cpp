// Which operator a node means when a domain is imported more than once, and which value a name
// means when a nested graph uses it again.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

ModelDef one_node(NodeDef op, std::vector<DimDef> dims) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("x", DType::float32, dims)};
  model.graph.outputs = {tensor_value("y", DType::float32, dims)};
  model.graph.nodes = {std::move(op)};
  return model;
}

Tensor y_of(const ModelDef& model, const Tensor& x) {
  return Model::load(encode(model)).infer({{"x", x}})[0].second.tensor();
}

// A loop of two iterations over x whose body is `body`.
ModelDef loop_model(const GraphDef& body) {
  ModelDef model = one_node(
      node("Loop", {"count", "", "x"}, {"y"}, {{"body", std::make_shared<const GraphDef>(body)}}),
      {std::int64_t{2}});
  model.graph.initializers = {{"count", Tensor::of<std::int64_t>({}, {2}), {}, {}},
                              {"w", Tensor::of<float>({2}, {100, 200}), {}, {}}};
  return model;
}

GraphDef loop_body(const std::string& carried) {
  GraphDef body;
  body.name = "body";
  body.inputs = {tensor_value("i", DType::int64, {}), tensor_value("go", DType::boolean, {}),
                 tensor_value(carried, DType::float32, {std::int64_t{2}})};
  body.outputs = {tensor_value("go_on", DType::boolean, {}),
                  tensor_value("sum", DType::float32, {std::int64_t{2}})};
  body.nodes = {node("Identity", {"go"}, {"go_on"})};
  return body;
}

}  // namespace

TEST_CASE("nodes are read under the highest version that the model imports of their domain") {
  // Up to version 12 Softmax normalizes over all dims from the axis on.
  ModelDef model = one_node(node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{0}}}),
                            {std::int64_t{2}, std::int64_t{2}});
  const Tensor zeros = Tensor::of<float>({2, 2}, {0, 0, 0, 0});
  model.opsets = {{"", 12}};
  CHECK(y_of(model, zeros).identical(Tensor::of<float>({2, 2}, {0.25F, 0.25F, 0.25F, 0.25F})));
  const Tensor by_column = Tensor::of<float>({2, 2}, {0.5F, 0.5F, 0.5F, 0.5F});
  model.opsets = {{"", 12}, {"", 13}};
  CHECK(y_of(model, zeros).identical(by_column));
  model.opsets = {{"ai.onnx", 13}, {"", 12}};
  CHECK(y_of(model, zeros).identical(by_column));
}

TEST_CASE("an input of a nested graph hides the outer value of its name") {
  GraphDef body = loop_body("w");
  body.nodes.push_back(node("Add", {"w", "x"}, {"sum"}));
  // w starts as x, x is the outer one: x + x + x.
  check_close(y_of(loop_model(body), Tensor::of<float>({2}, {1, 2})),
              Tensor::of<float>({2}, {3, 6}));
}

TEST_CASE("an initializer of a nested graph hides the outer value of its name") {
  GraphDef body = loop_body("v");
  body.initializers = {{"w", Tensor::of<float>({2}, {10, 20}), {}, {}}};
  body.nodes.push_back(node("Add", {"v", "w"}, {"sum"}));
  check_close(y_of(loop_model(body), Tensor::of<float>({2}, {1, 2})),
              Tensor::of<float>({2}, {21, 42}));
}

TEST_CASE("a graph inside of the nested one sees what hides, the graph around it what is hidden") {
  GraphDef branch;
  branch.name = "branch";
  branch.nodes = {node("Add", {"v", "w"}, {"r"})};
  branch.outputs = {tensor_value("r", DType::float32, {std::int64_t{2}})};
  const auto shared = std::make_shared<const GraphDef>(branch);
  GraphDef body = loop_body("v");
  body.initializers = {{"w", Tensor::of<float>({2}, {10, 20}), {}, {}}};
  body.nodes.push_back(
      node("If", {"go"}, {"sum"}, {{"then_branch", shared}, {"else_branch", shared}}));
  ModelDef model = loop_model(body);
  model.graph.nodes[0].outputs = {"looped"};
  model.graph.nodes.push_back(node("Add", {"looped", "w"}, {"y"}));
  check_close(y_of(model, Tensor::of<float>({2}, {1, 2})), Tensor::of<float>({2}, {121, 242}));
}
