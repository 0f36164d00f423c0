// The pieces of printed models: names, types, tensors and attributes.
#include "graph/print/format.h"

#include <catch2/catch.hpp>

#include "graph/print/print.h"
#include "tests/graph/check/sample_model.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

template <class T>
std::string counted(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(i));
  return printed_tensor(Tensor::of<T>({count}, values));
}

TypeDef holder(TypeKind kind, const TypeDef& element, DType key = DType::undefined) {
  TypeDef type;
  type.kind = kind;
  type.dtype = key;
  type.element = std::make_shared<const TypeDef>(element);
  return type;
}

std::string attribute(Attribute::Data data) {
  return printed_attribute(Attribute("a", std::move(data)));
}

}  // namespace

TEST_CASE("names of letters, digits and a few signs are plain up to 200 characters") {
  CHECK(printed_name("aZ09_.:/-#") == "aZ09_.:/-#");
  CHECK(printed_name("") == "''");
  for (const char c : std::string("@[`{ ,'\"!;<=")) {
    CHECK(printed_name(std::string("a") + c) != std::string("a") + c);
  }
  const std::string longest(200, 'n');
  CHECK(printed_name(longest) == longest);
  CHECK(printed_name(longest + "n") != longest + "n");
}

TEST_CASE("eight elements of a tensor are printed, of more the first eight") {
  CHECK(counted<float>(0) == "tensor(float)[0] {}");
  CHECK(counted<float>(8) == "tensor(float)[8] {0, 1, 2, 3, 4, 5, 6, 7}");
  CHECK(counted<float>(9) == "tensor(float)[9] {0, 1, 2, 3, 4, 5, 6, 7, ...}");
  CHECK(counted<double>(2) == "tensor(double)[2] {0, 1}");
  CHECK(counted<std::int32_t>(2) == "tensor(int32)[2] {0, 1}");
  CHECK(counted<std::int64_t>(2) == "tensor(int64)[2] {0, 1}");
  CHECK(counted<std::uint8_t>(2) == "tensor(uint8)[2] {0, 1}");
  CHECK(counted<std::int8_t>(2) == "tensor(int8)[2] {0, 1}");
  CHECK(counted<std::int16_t>(2) == "tensor(int16)[2]");
  CHECK(printed_tensor(Tensor::scalar(true)) == "tensor(bool)[] {true}");
  CHECK(printed_tensor(Tensor::of<std::string>({2}, {"a", "b'"})) ==
        "tensor(string)[2] {'a', " + printed_name("b'") + "}");
  CHECK(printed_tensor(Tensor::scalar(0.1F)) == "tensor(float)[] {0.1}");
}

TEST_CASE("nothing is printed of tensors of 64 kB and more") {
  const std::string some = " {0, 0, 0, 0, 0, 0, 0, 0, ...}";
  CHECK(printed_tensor(Tensor(DType::uint8, {65535})) == "tensor(uint8)[65535]" + some);
  CHECK(printed_tensor(Tensor(DType::uint8, {65536})) == "tensor(uint8)[65536]");
  CHECK(printed_tensor(Tensor(DType::float32, {16384})) == "tensor(float)[16384]");
}

TEST_CASE("types are printed with what they hold") {
  const TypeDef pair = tensor_type(DType::float32, {DimName("N"), std::int64_t{3}, {}});
  CHECK(printed_type(pair) == "tensor(float)[N, 3, ?]");
  TypeDef unranked = pair;
  unranked.dims.reset();
  CHECK(printed_type(unranked) == "tensor(float)");
  TypeDef sparse = pair;
  sparse.kind = TypeKind::sparse_tensor;
  CHECK(printed_type(sparse) == "sparse_tensor(float)[N, 3, ?]");
  CHECK(printed_type(holder(TypeKind::sequence, pair)) == "seq(tensor(float)[N, 3, ?])");
  CHECK(printed_type(holder(TypeKind::optional, unranked)) == "optional(tensor(float))");
  CHECK(printed_type(holder(TypeKind::map, unranked, DType::int64)) == "map(int64, tensor(float))");
  TypeDef open;
  open.kind = TypeKind::sequence;
  CHECK(printed_type(open) == "seq(?)");
  CHECK(printed_type(TypeDef()).empty());
}

TEST_CASE("dims of resolved types have the names of their symbols, or numbers") {
  Symbols symbols;
  symbols.names = {"N", "odd name"};
  const Type type = Type::tensor(
      DType::int64, Dims{Dim::symbolic(0), Dim::symbolic(1), Dim::symbolic(2), 4, Dim()});
  CHECK(printed_type(type, &symbols) == "tensor(int64)[N, 'odd name', ?2, 4, ?]");
  CHECK(printed_type(type, nullptr) == "tensor(int64)[?0, ?1, ?2, 4, ?]");
  CHECK(printed_type(Type(), nullptr) == "?");
}

TEST_CASE("attributes are printed by their kind, references by what they refer to") {
  CHECK(attribute(std::monostate()) == "a = nothing");
  CHECK(attribute(0.25F) == "a = 0.25");
  CHECK(attribute(std::int64_t{-3}) == "a = -3");
  CHECK(attribute(std::string("t")) == "a = 't'");
  CHECK(attribute(Tensor::scalar(2.0F)) == "a = tensor(float)[] {2}");
  CHECK(attribute(tensor_type(DType::int8, {})) == "a = tensor(int8)[]");
  CHECK(attribute(std::make_shared<const GraphDef>()) == "a = graph");
  CHECK(attribute(std::vector<float>{1, 0.5F}) == "a = {1, 0.5}");
  CHECK(attribute(std::vector<std::int64_t>(9, 7)) == "a = {7, 7, 7, 7, 7, 7, 7, 7, ...}");
  CHECK(attribute(std::vector<std::string>{"p", "q"}) == "a = {'p', 'q'}");
  CHECK(attribute(std::vector<Tensor>{Tensor::scalar(1.0F), Tensor::scalar(true)}) ==
        "a = {tensor(float)[] {1}, tensor(bool)[] {true}}");
  Attribute reference("a", std::int64_t{1});
  reference.ref = std::string("of_caller");
  CHECK(printed_attribute(reference) == "a = @of_caller");
}

TEST_CASE("nodes of a model are printed with overload, name and what has no name of its own") {
  ModelDef model = sample_model();
  model.producer_name = "maker";
  model.producer_version = "2";
  SparseTensorDef rare;
  rare.name = "rare";
  rare.values = Tensor::of<float>({1}, {3.0F});
  rare.indices = Tensor::of<std::int64_t>({1}, {1});
  rare.dims = {4};
  model.graph.sparse_initializers = {rare};
  model.graph.nodes[0].name = "first";
  model.graph.nodes[0].overload = std::string("wide");
  model.graph.nodes[0].domain = "elsewhere";
  model.graph.value_infos = {value("w")};
  model.training.emplace_back();
  model.training[0].initialization = GraphDef();
  model.training[0].initialization->name = "start";
  model.training[0].initialization_binding = {{"w", "w0"}};
  CHECK(print(model) == R"(model, ir_version 10, by 'maker 2'
  import ai.onnx 21
  import ai.onnx.preview.training 1
  graph sample
    input x: tensor(float)[2]
    initializer w: tensor(float)[2] {1, 2}
    initializer rare: sparse_tensor(float)[4] with 1 values
    y: tensor(float)[2] = elsewhere.Mul:wide(x, w)  # first
    output y: tensor(float)[2]
  training_info 0
    initialization start
    initialization binding w <- w0
)");
}

TEST_CASE("a function is printed with its overload, its attributes and its typed values") {
  ModelDef model = sample_function_model();
  FunctionDef& function = model.functions[0];
  function.overload = "wide";
  function.value_infos = {value("b")};
  CHECK_THAT(print(model), Catch::Contains("  function double_it of local:wide(a) -> (b)\n"
                                           "    import ai.onnx 21\n    import local 1\n"
                                           "    b: tensor(float)[2] = Add-21(a, a)\n"));
  function.defaults = {{"l", 0.5F}};
  CHECK_THAT(print(model), Catch::Contains("(b) {l = 0.5}\n"));
  function.defaults.clear();
  function.attributes = {"k"};
  CHECK_THAT(print(model), Catch::Contains("(b) {k}\n"));
}

TEST_CASE("a graph is printed with constants that are read, captures and references") {
  ToyGraph toy;
  Builder& b = toy.builder;
  const Val kept = toy.floats({1, 2, 3});
  const Val given = toy.floats({4, 5, 6});
  toy.floats({7});  // read by nothing
  Graph inside;
  inside.inputs = {inside.add_value("i", toy.x.type())};
  inside.outputs = inside.inputs;
  Node call;
  call.op = &toy_call;
  call.name = "caller";
  call.version = 3;
  call.inputs = {toy.x.id(), no_value};
  call.references = {kept.id()};
  call.subgraphs = {{"body", std::make_shared<Graph>(inside), {toy.x.id()}}};
  call.outputs = {toy.graph.add_temporary("called"), no_value};
  b.append(call);
  toy.graph[call.outputs[0]].constant = Tensor::scalar(1.0F);  // it is computed all the same
  toy.graph.outputs = {call.outputs[0], given.id()};
  const std::string type = printed_type(toy.graph[call.outputs[0]].type, nullptr);
  CHECK(print(toy.graph) ==
        "graph ''\n"
        "  input x: tensor(float)[2, 3]\n"
        "  constant constant: tensor(float)[3] {1, 2, 3}\n"
        "  constant constant_1: tensor(float)[3] {4, 5, 6}\n"
        "  called: " +
            type +
            ", _ = Call-3(x, _) of (constant)  # caller\n"
            "    body with (x)\n"
            "      input i: tensor(float)[2, 3]\n"
            "      output i: tensor(float)[2, 3]\n"
            "  output called: " +
            type +
            "\n"
            "  output constant_1: tensor(float)[3]\n");
}

}  // namespace ondine::test
