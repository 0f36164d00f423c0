#include "graph/training/prepare/parameters/held.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

NodeDef held(const std::string& name, Attribute value) {
  NodeDef result = node("Constant", {}, {name}, {std::move(value)});
  result.name = "hold_" + name;
  result.doc = "of " + name;
  result.metadata = {{"from", name}};
  return result;
}

NodeDef held(const std::string& name, float first) {
  return held(name, {"value", Tensor::of<float>({2}, {first, -first})});
}

InitializerDef weight(const std::string& name, float first) {
  return {name, Tensor::of<float>({2}, {first, -first}), "of " + name, {{"from", name}}};
}

std::shared_ptr<const GraphDef> body(const std::string& name, std::vector<NodeDef> nodes,
                                     std::vector<InitializerDef> initializers,
                                     const std::string& output) {
  auto result = std::make_shared<GraphDef>();
  result->name = name;
  result->nodes = std::move(nodes);
  result->initializers = std::move(initializers);
  result->outputs = {tensor_value(output, DType::float32, {std::int64_t{2}})};
  return result;
}

// Constants before, between and after the other nodes of the main graph, two branches that both
// define "w" as the main graph does, one of them with a branch inside that reads its "w".
ModelDef model() {
  ModelDef result;
  result.ir_version = 10;
  result.opsets = {{"", 21}};
  GraphDef& graph = result.graph;
  graph.name = "held";
  graph.inputs = {tensor_value("x", DType::float32, {std::int64_t{2}}),
                  tensor_value("c", DType::boolean, {})};
  graph.outputs = {tensor_value("y", DType::float32, {std::int64_t{2}})};
  graph.initializers = {weight("plain", 40)};
  const auto innermost = body("innermost", {node("Mul", {"x", "w"}, {"deep"})},
                              {weight("deepest", 31), weight("unread", 32)}, "deep");
  const auto empty = body("empty", {node("Neg", {"x"}, {"neg"})}, {}, "neg");
  const auto first =
      body("first",
           {node("Relu", {"x"}, {"r"}), held("w", 21),
            node("If", {"c"}, {"s"}, {{"then_branch", empty}, {"else_branch", innermost}}),
            node("Add", {"s", "w"}, {"t"})},
           {{"steps", Tensor::of<std::int64_t>({1}, {2}), "", {}}, weight("own", 22)}, "t");
  // Its output is the weight itself.
  const auto second = body("second", {}, {weight("other", 23), weight("w", 24)}, "w");
  graph.nodes = {held("w", 1),
                 held("steps", {"value_int", std::int64_t{3}}),
                 held("one", {"value_float", 1.5F}),
                 node("Mul", {"x", "w"}, {"m"}),
                 held("single", {"value_floats", std::vector<float>{2.5F}}),
                 held("pair", {"value_floats", std::vector<float>{3.5F, 4.5F}}),
                 node("Add", {"m", "pair"}, {"a"}),
                 held("skipped", 5),
                 held("wide", {"value", Tensor::of<double>({1, 2}, {6, 7})}),
                 node("If", {"c"}, {"z"}, {{"then_branch", first}, {"else_branch", second}}),
                 held("late", 8),
                 held("later", 9),
                 node("Sum", {"a", "z", "late", "later", "one", "single"}, {"y"})};
  return result;
}

HeldWeights found_in(const ModelDef& def) {
  Names names(def);
  return find_held_weights(def.graph, names, [](const std::string& name, const Tensor&) {
    return name != "skipped" && name != "unread";
  });
}

const GraphDef& body_of(const NodeDef& node, std::string_view attribute) {
  return *std::get<std::shared_ptr<const GraphDef>>(find(node.attributes, attribute)->data);
}

const InitializerDef& initializer(const GraphDef& graph, const std::string& name) {
  const auto found = std::find_if(graph.initializers.begin(), graph.initializers.end(),
                                  [&](const auto& one) { return one.name == name; });
  REQUIRE(found != graph.initializers.end());
  return *found;
}

std::vector<std::string> names_of(const std::vector<InitializerDef>& list) {
  std::vector<std::string> result;
  for (const InitializerDef& one : list) result.push_back(one.name);
  return result;
}

}  // namespace

TEST_CASE("held weights are found by their places, and a name made twice is replaced") {
  const HeldWeights found = found_in(model());
  std::vector<std::string> places;
  for (const auto& [place, name] : found) places.push_back(place);
  const std::string inner = "9/then_branch/";
  CHECK(places == std::vector<std::string>{"0", "10", "11", "2", "4", "5", "8", "9/else_branch/i0",
                                           "9/else_branch/i1", inner + "1",
                                           inner + "2/else_branch/i0", inner + "i1"});
  CHECK(found.at("2") == "one");
  CHECK(found.at("5") == "pair");
  CHECK(found.at("9/else_branch/i0") == "other");
  CHECK(found.at(inner + "i1") == "own");
  CHECK(found.at(inner + "2/else_branch/i0") == "deepest");
  const std::set<std::string> fresh = {found.at("0"), found.at("9/else_branch/i1"),
                                       found.at(inner + "1")};
  CHECK(fresh.size() == 3);
  CHECK_FALSE(fresh.contains("w"));
}

TEST_CASE("lifting makes initializers of the main graph, which all readers read by their names") {
  ModelDef def = model();
  const HeldWeights found = found_in(def);
  lift_weights(def.graph, found);
  CHECK(def.graph.initializers.size() == 1 + found.size());
  CHECK(initializer(def.graph, "plain").value.identical(weight("plain", 40).value));
  CHECK(initializer(def.graph, "one").value.identical(Tensor::scalar(1.5F)));
  CHECK(initializer(def.graph, "single").value.identical(Tensor::of<float>({1}, {2.5F})));
  CHECK(initializer(def.graph, "pair").value.identical(Tensor::of<float>({2}, {3.5F, 4.5F})));
  CHECK(initializer(def.graph, "wide").value.identical(Tensor::of<double>({1, 2}, {6, 7})));
  CHECK(initializer(def.graph, "deepest").value.identical(weight("", 31).value));
  CHECK(*initializer(def.graph, "late").doc == "of late");
  const std::string outer = found.at("0");
  const std::string in_first = found.at("9/then_branch/1");
  const std::string in_second = found.at("9/else_branch/i1");
  CHECK(initializer(def.graph, outer).value.identical(weight("", 1).value));
  CHECK(initializer(def.graph, in_first).value.identical(weight("", 21).value));
  CHECK(initializer(def.graph, in_second).value.identical(weight("", 24).value));

  REQUIRE(def.graph.nodes.size() == 6);
  CHECK(def.graph.nodes[0].outputs[0] == "steps");
  CHECK(def.graph.nodes[1].inputs == std::vector<std::string>{"x", outer});
  CHECK(def.graph.nodes[3].outputs[0] == "skipped");
  const GraphDef& first = body_of(def.graph.nodes[4], "then_branch");
  REQUIRE(first.nodes.size() == 3);
  CHECK(first.nodes[2].inputs == std::vector<std::string>{"s", in_first});
  CHECK(names_of(first.initializers) == std::vector<std::string>{"steps"});
  const GraphDef& innermost = body_of(first.nodes[1], "else_branch");
  CHECK(innermost.nodes[0].inputs == std::vector<std::string>{"x", in_first});
  CHECK(names_of(innermost.initializers) == std::vector<std::string>{"unread"});
  CHECK(body_of(first.nodes[1], "then_branch").nodes.size() == 1);
  const GraphDef& second = body_of(def.graph.nodes[4], "else_branch");
  CHECK(second.outputs[0].name == in_second);
  CHECK(second.initializers.empty());
}

TEST_CASE("lowering what was lifted gives the model of before, whatever the order") {
  const ModelDef original = model();
  ModelDef def = original;
  const HeldWeights found = found_in(def);
  lift_weights(def.graph, found);
  std::reverse(def.graph.initializers.begin(), def.graph.initializers.end());
  lower_weights(def.graph);
  // Weights of a name that occurs twice keep their new one.
  ModelDef expected = original;
  GraphDef& graph = expected.graph;
  const auto copy_of = [](const GraphDef& one) { return std::make_shared<GraphDef>(one); };
  graph.nodes[0].outputs[0] = graph.nodes[3].inputs[1] = found.at("0");
  const auto first = copy_of(body_of(graph.nodes[9], "then_branch"));
  const auto innermost = copy_of(body_of(first->nodes[2], "else_branch"));
  first->nodes[1].outputs[0] = first->nodes[3].inputs[1] = found.at("9/then_branch/1");
  innermost->nodes[0].inputs[1] = found.at("9/then_branch/1");
  first->nodes[2].attributes[1] = {"else_branch", innermost};
  const auto second = copy_of(body_of(graph.nodes[9], "else_branch"));
  second->initializers[1].name = second->outputs[0].name = found.at("9/else_branch/i1");
  graph.nodes[9].attributes = {{"then_branch", first}, {"else_branch", second}};
  CHECK(encode(def) == encode(expected));
}

TEST_CASE("a weight goes back with its new value, as a tensor where its form cannot hold it") {
  GraphDef graph;
  graph.nodes = {held("one", {"value_float", 1.5F}),
                 held("pair", {"value_floats", std::vector<float>{3.5F, 4.5F}}),
                 held("low", {"value_floats", std::vector<float>{1}}),
                 held("grown", {"value_float", 2.5F})};
  Names names{ModelDef()};
  lift_weights(graph, find_held_weights(graph, names, [](const auto&...) { return true; }));
  REQUIRE(names_of(graph.initializers) == std::vector<std::string>{"one", "pair", "low", "grown"});
  const Tensor low = Tensor::of<double>({1}, {-1});
  const Tensor grown = Tensor::of<float>({2}, {1, 2});
  graph.initializers[0].value = Tensor::scalar(-1.5F);
  graph.initializers[1].value = Tensor::of<float>({2}, {-3.5F, -4.5F});
  graph.initializers[2].value = low;
  graph.initializers[3].value = grown;
  lower_weights(graph);
  CHECK(graph.initializers.empty());
  REQUIRE(graph.nodes.size() == 4);
  const auto& data = [&](std::size_t i) -> const Attribute& {
    return graph.nodes[i].attributes[0];
  };
  CHECK(data(0).name == "value_float");
  CHECK(std::get<float>(data(0).data) == -1.5F);
  CHECK(data(1).name == "value_floats");
  CHECK(std::get<std::vector<float>>(data(1).data) == std::vector<float>{-3.5F, -4.5F});
  CHECK(data(2).name == "value");
  CHECK(tensor_of(data(2))->identical(low));
  CHECK(data(3).name == "value");
  CHECK(tensor_of(data(3))->identical(grown));
}

TEST_CASE("weights whose node or branch is gone stay initializers, the others go back") {
  ModelDef def = model();
  lift_weights(def.graph, found_in(def));
  // The If goes, and with it what was below it.
  std::erase_if(def.graph.nodes, [](const NodeDef& one) { return one.op == "If"; });
  lower_weights(def.graph);
  CHECK(def.graph.initializers.size() == 1 + 5);
  CHECK(names_of(def.graph.initializers)[0] == "plain");
  for (const InitializerDef& one : def.graph.initializers) {
    CHECK(one.value.dtype() == DType::float32);
    for (const auto& [key, text] : one.metadata) CHECK(key != "ondine.held_in");
  }
  CHECK(std::count_if(def.graph.nodes.begin(), def.graph.nodes.end(),
                      [](const NodeDef& one) { return one.op == "Constant"; }) == 9);
}

TEST_CASE("only Constant nodes of the standard with one floating-point value hold weights") {
  GraphDef graph;
  graph.nodes = {held("ints", {"value_ints", std::vector<std::int64_t>{1, 2}}),
                 held("tensor", {"value", Tensor::of<std::int32_t>({1}, {1})}),
                 held("text", {"value_string", std::string("w")}),
                 held("foreign", 1),
                 held("named", 2),
                 held("double_valued", 3),
                 held("half", {"value", Tensor(DType::float16, {2})})};
  graph.nodes[3].domain = "com.example";
  graph.nodes[4].op = "ConstantOfShape";
  graph.nodes[5].attributes.emplace_back("value_float", 1.0F);
  Names names{ModelDef()};
  const HeldWeights found = find_held_weights(graph, names, [](const auto&...) { return true; });
  CHECK(found == HeldWeights{{"6", "half"}});
}
