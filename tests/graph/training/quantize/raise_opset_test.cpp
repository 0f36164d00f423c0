// A model of an older operator set, written for a newer one.
#include "graph/training/quantize/raise_opset.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/opsets.h"
#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

ModelDef model_of(NodeDef one, std::int64_t opset) {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", opset}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("x", DType::float32, {DimName("N"), std::int64_t{8}})};
  model.graph.outputs = {tensor_value("y", DType::float32, {})};
  model.graph.nodes = {std::move(one)};
  return model;
}

NodeDef named(const std::string& op, std::vector<std::string> inputs,
              std::vector<std::string> outputs, Attributes attributes = {}) {
  NodeDef one = node(op, std::move(inputs), std::move(outputs), std::move(attributes));
  one.name = "the_" + op;
  return one;
}

std::vector<std::int64_t> integers(const NodeDef& one, const std::string& name) {
  const Attribute* found = find(one.attributes, name);
  REQUIRE(found != nullptr);
  return std::get<std::vector<std::int64_t>>(found->data);
}

// "" where the import can be raised.
std::string refusal(NodeDef one, std::int64_t opset) {
  ModelDef model = model_of(std::move(one), opset);
  try {
    raise_opset(model, 21);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    return error.what();
  }
  return "";
}

using Int64s = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("axes of a reduction become an input, other nodes stay as they are") {
  ModelDef model = model_of(
      named("ReduceMean", {"x"}, {"m"}, {{"axes", Int64s{-1}}, {"keepdims", std::int64_t{1}}}), 17);
  model.graph.nodes.push_back(named("Sub", {"x", "m"}, {"m.axes"}));
  model.graph.nodes.push_back(named("ReduceMax", {"m.axes"}, {"y"}));
  raise_opset(model, 21);
  CHECK(Opsets(model.opsets).version("") == 21);
  CHECK(model.ir_version == 10);
  const auto& nodes = model.graph.nodes;
  REQUIRE(nodes.size() == 4);
  CHECK(nodes[0].op == "Constant");
  CHECK(integers(nodes[0], "value_ints") == Int64s{-1});
  CHECK(nodes[0].outputs[0] != "m.axes");  // taken
  CHECK(nodes[1].inputs == std::vector<std::string>{"x", nodes[0].outputs[0]});
  CHECK(find(nodes[1].attributes, "axes") == nullptr);
  CHECK(find(nodes[1].attributes, "keepdims") != nullptr);
  CHECK(nodes[2].inputs == std::vector<std::string>{"x", "m"});
  CHECK(nodes[3].inputs == std::vector<std::string>{"m.axes"});
}

TEST_CASE("equal parts of Split are counted, given sizes stay") {
  ModelDef model = model_of(named("Split", {"x"}, {"y", "z"}, {{"axis", std::int64_t{1}}}), 13);
  model.graph.nodes.push_back(named("Split", {"x", "sizes"}, {"v", "w"}));
  raise_opset(model, 21);
  const Attribute* count = find(model.graph.nodes[0].attributes, "num_outputs");
  REQUIRE(count != nullptr);
  CHECK(std::get<std::int64_t>(count->data) == 2);
  CHECK(find(model.graph.nodes[1].attributes, "num_outputs") == nullptr);
}

TEST_CASE("nodes of branches and of functions are raised with the model") {
  auto branch = std::make_shared<GraphDef>();
  branch->name = "then";
  branch->nodes = {named("ReduceSum", {"x", "axes"}, {"s"}),
                   named("ReduceMin", {"s"}, {"t"}, {{"axes", Int64s{0}}})};
  ModelDef model = model_of(named("If", {"c"}, {"y"}), 16);
  for (const char* name : {"then_branch", "else_branch"}) {
    model.graph.nodes[0].attributes.emplace_back(name, std::shared_ptr<const GraphDef>(branch));
  }
  FunctionDef function;
  function.name = "f";
  function.domain = "mine";
  function.inputs = {"x"};
  function.outputs = {"y"};
  function.opsets = {{"", 17}};
  function.nodes = {named("ReduceL2", {"x"}, {"y"}, {{"axes", Int64s{1}}})};
  model.functions = {function};
  raise_opset(model, 21);
  const auto& raised = std::get<std::shared_ptr<const GraphDef>>(
      find(model.graph.nodes[0].attributes, "then_branch")->data);
  REQUIRE(raised->nodes.size() == 3);
  CHECK(raised->nodes[1].op == "Constant");
  CHECK(branch->nodes.size() == 2);  // shared with the caller's model
  CHECK(Opsets(model.functions[0].opsets).version("") == 21);
  CHECK(model.functions[0].nodes.size() == 2);
  // Who calls a function may leave out an attribute.
  function.attributes = {"axes"};
  function.nodes[0].attributes[0].ref = std::string("axes");
  model.opsets = {{"", 17}};
  model.functions = {function};
  CHECK_THROWS_WITH(raise_opset(model, 21), Catch::Contains("'the_ReduceL2' hinders"));
}

TEST_CASE("nodes that mean something else in the newer version are named") {
  CHECK(refusal(named("GridSample", {"x", "g"}, {"y"}, {{"mode", std::string("bilinear")}}), 17) ==
        "node 'the_GridSample' hinders raising ai.onnx from 17 to 21: GridSample means something "
        "else there");
  CHECK_THAT(refusal(named("GroupNormalization", {"x", "s", "b"}, {"y"}), 18),
             Catch::Contains("'the_GroupNormalization' hinders"));
  CHECK_THAT(refusal(node("DFT", {"x"}, {"y"}), 17),
             Catch::Contains("node that computes 'y' hinders"));
  const std::vector<std::string> normalized{"x", "s", "b", "m", "v"};
  CHECK(refusal(named("BatchNormalization", normalized, {"y"}), 13).empty());
  CHECK_FALSE(refusal(named("BatchNormalization", normalized, {"y", "m2", "v2"}), 13).empty());
  CHECK(refusal(named("LayerNormalization", {"x", "s"}, {"y"}), 15).empty());
}

TEST_CASE("RoiAlign keeps its coordinates") {
  ModelDef model = model_of(named("RoiAlign", {"x", "r", "i"}, {"y"}), 15);
  raise_opset(model, 21);
  const Attribute* mode = find(model.graph.nodes[0].attributes, "coordinate_transformation_mode");
  REQUIRE(mode != nullptr);
  CHECK(std::get<std::string>(mode->data) == "output_half_pixel");
}
