// Holders of the elements of sequences, maps and records count against the limits.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "core/budget.h"
#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::test;
using graph::GraphDef;
using graph::ModelDef;
using graph::NodeDef;

namespace {

constexpr std::uint64_t limit = std::uint64_t{2} << 20;

graph::TypeDef sequence_of(graph::TypeDef element) {
  graph::TypeDef type;
  type.kind = graph::TypeKind::sequence;
  type.element = std::make_shared<graph::TypeDef>(std::move(element));
  return type;
}

ModelDef model_of(std::vector<NodeDef> nodes, std::vector<graph::ValueDef> inputs,
                  graph::ValueDef output) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 20}, {"ai.onnx.ml", 3}};
  model.graph.name = "main";
  model.graph.nodes = std::move(nodes);
  model.graph.nodes[0].name = "it";
  model.graph.inputs = std::move(inputs);
  model.graph.outputs = {std::move(output)};
  return model;
}

Model load(const ModelDef& def) {
  LoadOptions options;
  options.limits.arena_bytes = limit;
  return Model::load(encode(def), options);
}

// The message of the call; empty when it succeeds.
std::string refusal(const Model& model, const NamedValues& feeds) {
  try {
    model.infer(feeds);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
    return error.what();
  }
}

// The number of parts of x.
ModelDef split(DType dtype, graph::Attributes attributes, bool sized = false) {
  std::vector<std::string> operands{"x"};
  std::vector<graph::ValueDef> inputs{tensor_value("x", dtype, {"N"})};
  if (sized) {
    operands.emplace_back("size");
    inputs.push_back(tensor_value("size", DType::int64, {}));
  }
  return model_of({node("SplitToSequence", operands, {"parts"}, std::move(attributes)),
                   node("SequenceLength", {"parts"}, {"n"})},
                  std::move(inputs), tensor_value("n", DType::int64, {}));
}

// A loop over `trips` iterations with this body and one more output than it carries values.
ModelDef loop(GraphDef body, std::vector<std::string> carried, std::vector<NodeDef> before,
              graph::ValueDef output) {
  body.name = "body";
  body.inputs.insert(body.inputs.begin(),
                     {tensor_value("i", DType::int64, {}), tensor_value("c", DType::boolean, {})});
  body.nodes.push_back(node("Identity", {"c"}, {"c_out"}));
  body.outputs.insert(body.outputs.begin(), tensor_value("c_out", DType::boolean, {}));
  std::vector<std::string> inputs{"trips", ""};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  std::vector<NodeDef> nodes{node("Loop", inputs, {output.name},
                                  {{"body", std::make_shared<const GraphDef>(std::move(body))}})};
  for (NodeDef& one : before) nodes.push_back(std::move(one));
  std::rotate(nodes.begin(), nodes.begin() + 1, nodes.end());
  ModelDef model = model_of(std::move(nodes), {tensor_value("trips", DType::int64, {})}, output);
  model.graph.nodes[0].name = model.graph.nodes.size() > 1 ? "" : "it";
  model.graph.nodes.back().name = "it";
  return model;
}

}  // namespace

TEST_CASE("the parts of a split count, not only their elements") {
  const auto [keepdims, sized] =
      GENERATE(table<std::int64_t, bool>({{0, false}, {1, false}, {1, true}}));
  const Model model = load(split(DType::float32, {{"keepdims", keepdims}}, sized));
  const auto feeds = [sized = sized](std::int64_t n) {
    NamedValues values{{"x", Tensor(DType::float32, {n})}};
    if (sized) values.emplace_back("size", Tensor::scalar(std::int64_t{1}));
    return values;
  };
  // 400 kB of elements.
  const std::string message = refusal(model, feeds(100'000));
  CHECK_THAT(message, Catch::Contains("SplitToSequence") && Catch::Contains("'it'"));
  CHECK_THAT(message, Catch::Contains(std::to_string(limit)));
  // Memory that a call took is given back, also when the call failed.
  for (int i = 0; i < 20; ++i) {
    CHECK(refusal(model, feeds(2000)).empty());
    CHECK(!refusal(model, feeds(20'000)).empty());
  }
}

TEST_CASE("the characters of split strings count") {
  const Model model = load(split(DType::string, {{"keepdims", std::int64_t{0}}}));
  const auto feeds = [](std::size_t length) {
    return NamedValues{
        {"x", Tensor::of<std::string>({2}, std::vector<std::string>(2, std::string(length, 'x')))}};
  };
  CHECK(refusal(model, feeds(400'000)).empty());
  CHECK_THAT(refusal(model, feeds(1'200'000)), Catch::Contains("'it'"));
}

TEST_CASE("maps count with what holds them") {
  const graph::Attributes labels{{"classlabels_int64s", std::vector<std::int64_t>{3, 5}}};
  graph::ValueDef maps;
  maps.name = "maps";
  graph::TypeDef map;
  map.kind = graph::TypeKind::map;
  map.dtype = DType::int64;
  map.element = std::make_shared<graph::TypeDef>(tensor_value("", DType::float32, {}).type);
  maps.type = sequence_of(map);
  NodeDef zip = node("ZipMap", {"x"}, {"maps"}, labels, "ai.onnx.ml");
  const Model model =
      load(model_of({zip}, {tensor_value("x", DType::float32, {"N", std::int64_t{2}})}, maps));
  CHECK(refusal(model, {{"x", Tensor(DType::float32, {500, 2})}}).empty());
  const std::string message = refusal(model, {{"x", Tensor(DType::float32, {5000, 2})}});
  CHECK_THAT(message, Catch::Contains("ZipMap") && Catch::Contains(std::to_string(limit)));
}

TEST_CASE("a sequence that a loop fills with one shared tensor counts its entries") {
  graph::ValueDef list;
  list.name = "list";
  list.type = sequence_of(tensor_value("", DType::float32, {}).type);
  list.type.element =
      std::make_shared<graph::TypeDef>(tensor_value("", DType::float32, {std::int64_t{0}}).type);
  GraphDef body;
  body.inputs = {list};
  body.inputs[0].name = "before";
  body.nodes = {node("SequenceInsert", {"before", "nothing"}, {"after"})};
  body.outputs = {list};
  body.outputs[0].name = "after";
  ModelDef def = loop(body, {"empty"}, {node("SequenceEmpty", {}, {"empty"})}, list);
  def.graph.initializers = {{"nothing", Tensor(DType::float32, {0}), "", {}}};
  const Model model = load(def);
  const auto feeds = [](std::int64_t n) { return NamedValues{{"trips", Tensor::scalar(n)}}; };
  CHECK(refusal(model, feeds(500)).empty());
  CHECK_THAT(refusal(model, feeds(20'000)),
             Catch::Contains("Loop") && Catch::Contains(std::to_string(limit)));
}

TEST_CASE("what a loop records of each iteration counts, even where it is empty") {
  GraphDef body;
  body.nodes = {node("Identity", {"nothing"}, {"part"})};
  body.outputs = {tensor_value("part", DType::float32, {std::int64_t{0}})};
  ModelDef def = loop(body, {}, {}, tensor_value("parts", DType::float32, {"T", std::int64_t{0}}));
  def.graph.initializers = {{"nothing", Tensor(DType::float32, {0}), "", {}}};
  const Model model = load(def);
  const auto feeds = [](std::int64_t n) { return NamedValues{{"trips", Tensor::scalar(n)}}; };
  CHECK(refusal(model, feeds(2000)).empty());
  CHECK_THAT(refusal(model, feeds(100'000)),
             Catch::Contains("'it'") && Catch::Contains(std::to_string(limit)));
}

TEST_CASE("holders are charged once, however often their value is passed on") {
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{1} << 20);
  {
    const Value inner = Value::optional(Value(Tensor(DType::float32, {1})));
    inner.charge_holders(budget);
    const std::uint64_t one = budget->used();
    CHECK(one >= sizeof(Value));
    const Value copy = inner;  // NOLINT: a copy is what the test is about
    copy.charge_holders(budget);
    CHECK(budget->used() == one);
    const Value outer = Value::sequence(std::vector<Value>(10, inner));
    outer.charge_holders(budget);
    CHECK(budget->used() >= one + 10 * sizeof(Value));
    CHECK(budget->used() < 2 * one + 10 * 2 * sizeof(Value));
  }
  CHECK(budget->used() == 0);
}
