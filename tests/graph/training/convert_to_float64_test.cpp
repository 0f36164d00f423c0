// Models in double for gradient checks.
#include <catch2/catch.hpp>

#include "graph/training/derivative_model.h"
#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

Tensor constant_of(const NodeDef& node) {
  return *std::get<Boxed<Tensor>>(find(node.attributes, "value")->data);
}

std::int64_t type_of(const NodeDef& node, const char* attribute) {
  return std::get<std::int64_t>(find(node.attributes, attribute)->data);
}

constexpr auto number(DType dtype) { return static_cast<std::int64_t>(dtype); }

NodeDef converted(const NodeDef& node) {
  ModelDef model;
  model.graph.nodes = {node};
  convert_to_float64(model);
  return model.graph.nodes.back();
}

TypeDef holder(TypeKind kind, const TypeDef& element) {
  TypeDef type;
  type.kind = kind;
  type.element = std::make_shared<const TypeDef>(element);
  return type;
}

}  // namespace

TEST_CASE("tensors, inputs, outputs and inner values of floats become those of doubles") {
  ModelDef model = sample_function_model();
  GraphDef& graph = model.graph;
  graph.initializers = {
      initializer("w", {0.5F, 2}),
      {"half", Tensor::of<float16>({1}, {float16{0x3c00}}), {}, {}},
      {"count", Tensor::of<std::int64_t>({1}, {7}), {}, {}},
  };
  graph.sparse_initializers = {
      {"s", Tensor::of<float>({1}, {3}), Tensor::of<std::int64_t>({1}, {0}), Shape{4}}};
  graph.inputs = {value("x"), value("i", {}, DType::int32)};
  graph.value_infos = {value("h", {}, DType::bfloat16), value("d", {}, DType::float64)};
  graph.value_infos.push_back(value("q"));
  graph.value_infos[2].type = holder(TypeKind::sequence, tensor_type(DType::float32, {}));
  model.functions[0].value_infos = {value("b")};
  model.functions[0].nodes = {node("Cast", {"a"}, {"b"}, {{"to", number(DType::float32)}})};
  convert_to_float64(model);
  CHECK(graph.initializers[0].value.identical(Tensor::of<double>({2}, {0.5, 2})));
  CHECK(graph.initializers[1].value.identical(Tensor::of<double>({1}, {1})));
  CHECK(graph.initializers[2].value.identical(Tensor::of<std::int64_t>({1}, {7})));
  CHECK(graph.sparse_initializers[0].values.identical(Tensor::of<double>({1}, {3})));
  CHECK(graph.sparse_initializers[0].indices.dtype() == DType::int64);
  CHECK(graph.inputs[0].type.dtype == DType::float64);
  CHECK(graph.inputs[1].type.dtype == DType::int32);
  CHECK(graph.outputs[0].type.dtype == DType::float64);
  CHECK(graph.value_infos[0].type.dtype == DType::float64);
  CHECK(graph.value_infos[1].type.dtype == DType::float64);
  CHECK(graph.value_infos[2].type.element->dtype == DType::float64);
  CHECK(model.functions[0].value_infos[0].type.dtype == DType::float64);
  CHECK(type_of(model.functions[0].nodes[0], "to") == number(DType::float64));
}

TEST_CASE("attributes that name an element type of floats name double, others stay") {
  for (const char* attribute : {"to", "dtype"}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
      CHECK(type_of(converted(node("Op", {"x"}, {"y"}, {{attribute, number(dtype)}})), attribute) ==
            number(DType::float64));
    }
    for (const DType dtype : {DType::int64, DType::boolean, DType::string}) {
      CHECK(type_of(converted(node("Op", {"x"}, {"y"}, {{attribute, number(dtype)}})), attribute) ==
            number(dtype));
    }
  }
  const NodeDef axis = converted(node("Op", {"x"}, {"y"}, {{"axis", std::int64_t{1}}}));
  CHECK(type_of(axis, "axis") == 1);
}

TEST_CASE("operators that make floats where nothing says so make doubles") {
  const NodeDef filled = converted(node("ConstantOfShape", {"s"}, {"y"}));
  CHECK(constant_of(filled).identical(Tensor::of<double>({1}, {0})));
  const NodeDef given =
      converted(node("ConstantOfShape", {"s"}, {"y"}, {{"value", Tensor::of<float>({1}, {3})}}));
  CHECK(given.attributes.size() == 1);
  CHECK(constant_of(given).identical(Tensor::of<double>({1}, {3})));
  CHECK(type_of(converted(node("RandomNormal", {}, {"y"})), "dtype") == number(DType::float64));
  const NodeDef drawn =
      converted(node("RandomUniform", {}, {"y"}, {{"dtype", number(DType::float16)}}));
  CHECK(drawn.attributes.size() == 1);
  CHECK(type_of(drawn, "dtype") == number(DType::float64));
  CHECK(converted(node("RandomNormalLike", {"x"}, {"y"})).attributes.empty());
  CHECK(converted(node("Relu", {"x"}, {"y"})).attributes.empty());
}

TEST_CASE("Constant nodes of numbers hold tensors of doubles") {
  const NodeDef one = converted(node("Constant", {}, {"c"}, {{"value_float", 0.5F}}));
  CHECK(one.attributes.size() == 1);
  CHECK(constant_of(one).identical(Tensor::scalar(0.5)));
  const NodeDef many =
      converted(node("Constant", {}, {"c"}, {{"value_floats", std::vector<float>{1, 0.5F}}}));
  CHECK(constant_of(many).identical(Tensor::of<double>({2}, {1, 0.5})));
  const NodeDef integer = converted(node("Constant", {}, {"c"}, {{"value_int", std::int64_t{3}}}));
  CHECK(type_of(integer, "value_int") == 3);
}

TEST_CASE("branches and bodies are converted too") {
  GraphDef branch;
  branch.nodes = {node("Cast", {"x"}, {"r"}, {{"to", number(DType::float32)}})};
  branch.outputs = {value("r")};
  const auto held = body(branch);
  const NodeDef made = converted(node("If", {"c"}, {"y"}, {{"then_branch", held}}));
  const auto& inner = *std::get<std::shared_ptr<const GraphDef>>(made.attributes[0].data);
  CHECK(type_of(inner.nodes[0], "to") == number(DType::float64));
  CHECK(inner.outputs[0].type.dtype == DType::float64);
  CHECK(held->outputs[0].type.dtype == DType::float32);
}

TEST_CASE("scales of Resize and Upsample stay floats by a Cast before the node") {
  const auto nodes = [](const NodeDef& one) {
    ModelDef model;
    model.graph.nodes = {one};
    convert_to_float64(model);
    return model.graph.nodes;
  };
  struct Row {
    const char* op;
    std::vector<std::string> inputs;
    std::size_t scales;
  };
  for (const Row& row : std::vector<Row>{{"Resize", {"x", "roi", "scales"}, 2},
                                         {"Resize", {"x", "scales"}, 1},
                                         {"Upsample", {"x", "scales"}, 1},
                                         {"Resize", {"x", "", "scales", "sizes"}, 2}}) {
    const auto made = nodes(node(row.op, row.inputs, {"y"}));
    REQUIRE(made.size() == 2);
    CHECK(made[0].op == "Cast");
    CHECK(type_of(made[0], "to") == number(DType::float32));
    CHECK(made[0].inputs == std::vector<std::string>{"scales"});
    CHECK(made[0].outputs == std::vector<std::string>{"y.scales"});
    std::vector<std::string> inputs = row.inputs;
    inputs[row.scales] = "y.scales";
    CHECK(made[1].inputs == inputs);
  }
  CHECK(nodes(node("Resize", {"x", "", "", "sizes"}, {"y"})).size() == 1);
  CHECK(nodes(node("Upsample", {"x"}, {"y"})).size() == 1);
  CHECK(nodes(node("Resize", {"x", "roi", "scales"}, {"y"}, {}, "org.example")).size() == 1);
  CHECK(nodes(node("Add", {"x", "y", "z"}, {"w"})).size() == 1);
}

TEST_CASE("a Constant whose number the call of its function gives is cast") {
  for (const char* name : {"value_float", "value_floats"}) {
    NodeDef constant = node("Constant", {}, {"c"});
    Attribute& number = constant.attributes.emplace_back();
    number.name = name;
    number.kind = AttributeKind::real;
    number.ref = std::string("given");
    ModelDef model = sample_function_model();
    model.functions[0].nodes = {constant};
    convert_to_float64(model);
    const auto& nodes = model.functions[0].nodes;
    REQUIRE(nodes.size() == 2);
    CHECK(*nodes[0].attributes[0].ref == "given");
    CHECK(nodes[1].op == "Cast");
    CHECK(nodes[1].inputs == nodes[0].outputs);
    CHECK(nodes[1].outputs == std::vector<std::string>{"c"});
    CHECK(type_of(nodes[1], "to") == static_cast<std::int64_t>(DType::float64));
  }
}
