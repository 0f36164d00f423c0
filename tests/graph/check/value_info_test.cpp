#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::ModelDef;

void expect(const ModelDef& model, const std::string& text) {
  CHECK_THAT(findings_of(model), Contains(text));
}

graph::ValueDef sequence(const std::string& name, DType dtype) {
  graph::ValueDef out;
  out.name = name;
  out.type.kind = graph::TypeKind::sequence;
  out.type.element = std::make_shared<const graph::TypeDef>(tensor_type(dtype, {}));
  return out;
}

// y = (x w) x, h = x w
ModelDef model_with(std::vector<graph::ValueDef> infos) {
  ModelDef model = sample_model();
  model.graph.nodes = {node("Mul", {"x", "w"}, {"h"}), node("Mul", {"h", "x"}, {"y"})};
  model.graph.value_infos = std::move(infos);
  return model;
}

}  // namespace

TEST_CASE("value_info names each value once") {
  CHECK(findings_of(model_with({value("h"), value("y")})) == "");
  expect(model_with({value("h"), value("h")}), "value 'h' is in value_info twice");
  // An algorithm's continues the main graph's.
  ModelDef model = sample_training_model();
  model.graph.value_infos = {value("w")};
  CHECK(findings_of(model) == "");
  model.training[0].algorithm->value_infos = {value("dw")};
  CHECK(findings_of(model) == "");
  model.training[0].algorithm->value_infos.push_back(value("w"));
  expect(model, "value 'w' is in value_info twice, in the algorithm graph of training_info 0");
}

TEST_CASE("value_info does not contradict inputs, outputs and initializers") {
  CHECK(findings_of(
            model_with({value("x"), value("w", {graph::DimName("N")}), value("y", {{}})})) == "");
  const std::string differs = "is declared with another type among the inputs or outputs";
  expect(model_with({value("x", {std::int64_t{3}})}), "value 'x' " + differs);
  expect(model_with({value("x", {})}), "value 'x' " + differs);
  expect(model_with({value("y", {std::int64_t{2}}, DType::float64)}), "value 'y' " + differs);
  expect(model_with({sequence("y", DType::float32)}), "value 'y' " + differs);
  expect(model_with({value("w", {std::int64_t{3}})}),
         "value 'w' does not fit the initializer of its name: declared with shape");
  ModelDef model = model_with({sequence("s", DType::int64)});
  model.graph.inputs.push_back(sequence("s", DType::float32));
  expect(model, "value 's' " + differs);
}

TEST_CASE("value_info of a function names values of the function, each once") {
  ModelDef model = sample_function_model();
  model.functions[0].value_infos = {value("a"), value("b")};
  CHECK(findings_of(model) == "");
  model.functions[0].value_infos.push_back(value("b"));
  expect(model, "value 'b' is in value_info twice, in function 'double_it' of 'local'");
  model.functions[0].value_infos[2].name = "x";
  expect(model, "value_info of 'x', which is no value of the function, in function 'double_it'");
}

TEST_CASE("every graph has a name") {
  graph::GraphDef branch;
  branch.name = "branch";
  branch.nodes = {node("Relu", {"x"}, {"r"})};
  branch.outputs = {value("r")};
  ModelDef model = sample_model();
  const auto with = [&](const graph::GraphDef& then) {
    model.graph.inputs = {value("x"), value("c", {}, DType::boolean)};
    model.graph.nodes = {node("If", {"c"}, {"y"},
                              {{"then_branch", std::make_shared<const graph::GraphDef>(then)},
                               {"else_branch", body(branch)}})};
  };
  with(branch);
  CHECK(findings_of(model) == "");
  graph::GraphDef unnamed = branch;
  unnamed.name.clear();
  with(unnamed);
  expect(model, "a graph has no name, in graph 'then_branch' of node 'y'");
  model = sample_training_model();
  model.training[0].algorithm->name.clear();
  expect(model, "a graph has no name, in the algorithm graph of training_info 0");
  model = sample_training_model();
  model.training[0].initialization = branch;
  model.training[0].initialization->name.clear();
  expect(model, "a graph has no name, in the initialization graph of training_info 0");
  // An empty message is as good as none.
  model = sample_training_model();
  model.training[0].initialization.emplace();
  CHECK(findings_of(model) == "");
}

TEST_CASE("keys of maps are strings or integers of at least eight bits") {
  ModelDef model = sample_model();
  const auto with = [&](DType key) {
    graph::ValueDef map;
    map.name = "m";
    map.type.kind = graph::TypeKind::map;
    map.type.dtype = key;
    map.type.element = std::make_shared<const graph::TypeDef>(tensor_type(DType::float32, {}));
    model.graph.inputs = {value("x"), map};
  };
  for (const DType key : {DType::int8, DType::uint8, DType::int64, DType::uint64, DType::string}) {
    with(key);
    CHECK(findings_of(model) == "");
  }
  for (const DType key : {DType::int4, DType::uint4, DType::int2, DType::uint2, DType::float32,
                          DType::boolean, DType::undefined}) {
    with(key);
    expect(model, "graph input 'm' has map keys of type");
  }
}

TEST_CASE("device configurations are named once and have as many names as devices") {
  ModelDef model = sample_model();
  model.device_configurations = {{"two", 2, {"a", "b"}}, {"many", 16, {}}};
  CHECK(findings_of(model) == "");
  model.device_configurations[0].device_names.pop_back();
  expect(model, "device configuration 'two' has 2 devices and 1 names of devices");
  model.device_configurations[1].name = "two";
  expect(model, "device configuration 'two' is defined twice");
  model.device_configurations = {{"", 2, {}}};
  expect(model, "device configuration '' has no name");
  model.device_configurations = {{"none", 0, {}}};
  expect(model, "device configuration 'none' has 0 devices");
}

TEST_CASE("nodes are placed by a configuration of the model and shard what they read or write") {
  ModelDef model = sample_model();
  model.device_configurations = {{"two", 2, {}}};
  graph::NodeDevicesDef devices;
  devices.configuration = "two";
  devices.shardings = {{"x", {0, 1}, {}, {}}, {"y", {0, 1}, {}, {}}};
  model.graph.nodes[0].devices.edit() = {devices};
  CHECK(findings_of(model) == "");
  model.graph.nodes[0].devices.edit()[0].shardings[1].tensor = "z";
  expect(model, "node 'y' ('Mul') shards 'z', which is none of its inputs and outputs");
  model.graph.nodes[0].devices.edit()[0].configuration = "three";
  expect(model, "is placed by device configuration 'three', which the model does not have");
}

}  // namespace ondine::test
