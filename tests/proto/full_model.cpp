#include "tests/proto/full_model.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

Tensor numbers(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) * 0.5F);
  return Tensor::of(Shape{count}, values);
}

TypeDef tensor_type() {
  TypeDef type;
  type.kind = TypeKind::tensor;
  type.dtype = DType::bfloat16;
  type.dims = {DimDef(), DimDef(std::int64_t{0}), DimDef("N")};
  type.denotation = std::string("IMAGE");
  type.dim_denotations.edit() = {"DATA_BATCH", "", "DATA_CHANNEL"};
  return type;
}

TypeDef holder(TypeKind kind, TypeDef element, DType key = DType::undefined) {
  TypeDef type;
  type.kind = kind;
  type.dtype = key;
  type.element = std::make_shared<const TypeDef>(std::move(element));
  return type;
}

std::vector<TypeDef> all_types() {
  TypeDef scalar = tensor_type();
  scalar.dims.emplace();
  scalar.dim_denotations = {};
  TypeDef any_rank;
  any_rank.kind = TypeKind::tensor;
  any_rank.dtype = DType::int2;
  TypeDef sparse = tensor_type();
  sparse.kind = TypeKind::sparse_tensor;
  TypeDef opaque;
  opaque.opaque.edit().emplace("a domain", "a name");
  return {tensor_type(),
          scalar,
          any_rank,
          sparse,
          opaque,
          holder(TypeKind::sequence, tensor_type()),
          holder(TypeKind::optional, holder(TypeKind::sequence, any_rank)),
          holder(TypeKind::map, any_rank, DType::string)};
}

SparseTensorDef sparse(const std::string& name) {
  return {name, numbers(2), Tensor::of(Shape{2, 2}, std::vector<std::int64_t>{0, 1, 2, 0}), {3, 2}};
}

std::shared_ptr<const GraphDef> small_graph(const std::string& name) {
  GraphDef graph;
  graph.name = name;
  NodeDef node;
  node.op = "Relu";
  node.inputs = {"a"};
  node.outputs = {"b"};
  graph.nodes = {node};
  return std::make_shared<const GraphDef>(graph);
}

Attributes all_attributes() {
  Attributes out{
      Attribute("f", -0.0F),
      Attribute("i", std::int64_t{0}),
      Attribute("s", std::string("bytes \xff\0 are kept", 18)),
      Attribute("t", numbers(3)),
      Attribute("g", small_graph("g")),
      Attribute("st", sparse("")),
      Attribute("tp", tensor_type()),
      Attribute("fs", std::vector<float>{1.5F, -2.5F}),
      Attribute("is", std::vector<std::int64_t>{INT64_MIN, INT64_MAX}),
      Attribute("ss", std::vector<std::string>{"", "x"}),
      Attribute("ts", std::vector<Tensor>{numbers(1), Tensor(DType::int4, {3})}),
      Attribute("gs", std::vector{small_graph("g1"), small_graph("g2")}),
      Attribute("sts", std::vector{sparse(""), sparse("named")}),
      Attribute("tps", all_types()),
      Attribute("empty", std::vector<std::int64_t>{}),
  };
  out[0].doc = std::string("documented");
  Attribute reference;
  reference.name = "referring";
  reference.kind = AttributeKind::integers;
  reference.ref = std::string("outer");
  out.push_back(reference);
  return out;
}

NodeDevicesDef devices() {
  ShardedDimDef dim{1, {{std::int64_t{4}, 2}, {"N", 3}, {{}, 4}}};
  return {"pair", {{"x", {0, -1}, {{-1, {0, 1}}}, {dim}}}, 0};
}

NodeDef full_node(const std::string& name) {
  NodeDef node;
  node.op = "Op";
  node.domain = "some.domain";
  node.overload = std::string("v2");
  node.name = name;
  node.inputs = {"a", "", "b"};
  node.outputs = {"", "c"};
  node.attributes = all_attributes();
  node.doc = std::string("what it does");
  node.metadata = {{"key", "value"}, {"", ""}};
  node.devices.edit() = {devices(), {}};
  return node;
}

// Every element type, with more elements than go into a byte.
std::vector<InitializerDef> all_initializers() {
  std::vector<InitializerDef> out;
  for (int i = 1; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor tensor(dtype, {5});
    if (dtype == DType::string) {
      tensor.mutable_values<std::string>()[1] = "text";
    } else {
      auto* bytes = static_cast<unsigned char*>(tensor.mutable_data());
      for (std::size_t k = 0; k < tensor.bytes(); ++k) bytes[k] = k % 3 == 1 ? 1 : 0;
    }
    out.push_back({"init_" + std::string(to_string(dtype)), tensor, "a doc", {{"k", "v"}}});
  }
  out.push_back({"empty", Tensor(DType::float32, {0, 3}), "", {}});
  out.push_back({"scalar", Tensor::scalar(1.5), "", {}});
  return out;
}

GraphDef full_graph(const std::string& name) {
  GraphDef graph;
  graph.name = name;
  graph.nodes = {full_node("one"), full_node("")};
  graph.initializers = all_initializers();
  graph.sparse_initializers = {sparse("scattered")};
  for (const auto& type : all_types()) {
    graph.inputs.push_back({"in", type, "an input", {{"a", "b"}}});
  }
  graph.outputs = {{"out", tensor_type(), "", {}}};
  graph.value_infos = {{"untyped", {}, "", {}}};
  graph.quantization = {{"x", {{"SCALE_TENSOR", "s"}}}};
  graph.doc = "a graph";
  graph.metadata = {{"m", "n"}};
  return graph;
}

FunctionDef full_function() {
  FunctionDef function;
  function.name = "F";
  function.domain = "some.domain";
  function.overload = "v1";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.attributes = {"outer"};
  function.defaults = {Attribute("alpha", 0.25F)};
  function.nodes = {full_node("inside")};
  function.opsets = {{"", 21}, {"some.domain", 1}};
  function.value_infos = {{"a", tensor_type(), "", {}}};
  function.doc = "a function";
  function.metadata = {{"p", "q"}};
  return function;
}

}  // namespace

ModelDef full_model() {
  ModelDef model;
  model.ir_version = 14;
  model.opsets = {{"", 27}, {"ai.onnx.preview.training", 1}};
  model.producer_name = "a producer";
  model.producer_version = "1.2";
  model.domain = "org.example";
  model.model_version = -3;
  model.doc = "a model \xe2\x82\xac";
  model.graph = full_graph("main");
  TrainingInfoDef both;
  both.initialization = *small_graph("start");
  both.algorithm = full_graph("step");
  both.initialization_binding = {{"w", "w0"}};
  both.update_binding = {{"w", "w1"}, {"v", "v1"}};
  model.training = {both, {}};
  model.functions = {full_function()};
  model.device_configurations = {{"pair", 2, {"left", "right"}}};
  model.metadata = {{"author", "nobody"}};
  return model;
}

}  // namespace ondine::test
