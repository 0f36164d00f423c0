// Graphs written back as definitions: names that are all different, constants, bodies, copies.
#include "graph/training/lower/to_definition.h"

#include <catch2/catch.hpp>

#include "graph/print/print.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

struct Ports {
  ToyGraph toy;
  GraphPorts ports;

  Ports() {
    toy.graph.symbols = std::make_shared<Symbols>();
    ports.inputs = {{"x", toy.graph.inputs[0]}};
  }
  void output(const std::string& name, Val value) { ports.outputs.emplace_back(name, value.id()); }
  std::string text() const {
    ModelDef model;
    model.ir_version = 10;
    model.opsets = {{"", 21}};
    model.graph = to_definition(toy.graph, ports);
    const std::string all = print(model);
    return all.substr(all.find("  graph "));
  }
};

}  // namespace

TEST_CASE("values without a name of their own have different names, outputs the wanted ones") {
  Ports p;
  Builder& b = p.toy.builder;
  const Val first = b.node("Minus", {p.toy.x, p.toy.x});
  const Val second = b.node("Minus", {first, p.toy.x});
  p.output("Minus", b.node("Minus", {second, first}));
  // They are called Minus and Minus_1 in the graph; the first name is the output's.
  CHECK(p.text() ==
        "  graph graph\n"
        "    input x: tensor(float)[2, 3]\n"
        "    Minus_1 = Minus-21(x, x)\n"
        "    Minus_1_1 = Minus-21(Minus_1, x)\n"
        "    Minus: tensor(float)[2, 3] = Minus-21(Minus_1_1, Minus_1)\n"
        "    output Minus: tensor(float)[2, 3]\n");
}

TEST_CASE("the name of a graph and of a node stay") {
  Ports p;
  p.toy.graph.name = "named";
  p.output("y", p.toy.builder.node("Minus", {p.toy.x, p.toy.x}));
  p.toy.graph.nodes[0].name = "node_name";
  const GraphDef def = to_definition(p.toy.graph, p.ports);
  CHECK(def.name == "named");
  CHECK(def.nodes.at(0).name == "node_name");
}

TEST_CASE("an output that is an input, a constant or another output is a copy") {
  Ports p;
  Builder& b = p.toy.builder;
  const Val sum = b.node("Plus", {p.toy.x, p.toy.x});
  const Val fixed = p.toy.floats({1, 2, 3});
  p.output("same", p.toy.x);
  p.output("sum", sum);
  p.output("again", sum);
  p.output("fixed", b.node("Plus", {fixed, p.toy.x}));
  p.toy.graph.outputs = {sum.id(), fixed.id()};
  p.output("known", fixed);
  CHECK(p.text() ==
        "  graph graph\n"
        "    input x: tensor(float)[2, 3]\n"
        "    initializer constant: tensor(float)[3] {1, 2, 3}\n"
        "    sum: tensor(float)[2, 3] = Plus-21(x, x)\n"
        "    fixed: tensor(float)[2, 3] = Plus-21(constant, x)\n"
        "    same: tensor(float)[2, 3] = Identity-21(x)\n"
        "    again: tensor(float)[2, 3] = Identity-21(sum)\n"
        "    known: tensor(float)[3] = Identity-21(constant)\n"
        "    output same: tensor(float)[2, 3]\n"
        "    output sum: tensor(float)[2, 3]\n"
        "    output again: tensor(float)[2, 3]\n"
        "    output fixed: tensor(float)[2, 3]\n"
        "    output known: tensor(float)[3]\n");
}

TEST_CASE("inputs and outputs that are left out at the end are not written, others are empty") {
  Ports p;
  Builder& b = p.toy.builder;
  Node node;
  node.op = &toy_minus;
  node.inputs = {no_value, p.toy.x.id(), no_value, no_value};
  node.outputs = {no_value, p.toy.graph.add_temporary("second"), no_value};
  node.attributes = {{"k", std::int64_t{2}}};
  p.toy.graph.nodes.push_back(node);
  p.toy.graph[node.outputs[1]].type = p.toy.x.type();
  p.output("y", b.value(node.outputs[1]));
  const GraphDef def = to_definition(p.toy.graph, p.ports);
  REQUIRE(def.nodes.size() == 1);
  CHECK(def.nodes[0].inputs == std::vector<std::string>{"", "x"});
  CHECK(def.nodes[0].outputs == std::vector<std::string>{"", "y"});
  CHECK(find(def.nodes[0].attributes, "k") != nullptr);
}

TEST_CASE("a body sees outer values by their names and computes each of its outputs once") {
  Ports p;
  Builder& b = p.toy.builder;
  const Val outer = b.node("Plus", {p.toy.x, p.toy.x});
  Graph inside;
  inside.symbols = p.toy.graph.symbols;
  const Type type = p.toy.x.type();
  inside.inputs = {inside.add_value("formal", type), inside.add_value("caught", type)};
  Builder inner(inside, toy_catalogue());
  const Val formal = inner.value(inside.inputs[0]);
  const Val caught = inner.value(inside.inputs[1]);
  const Val made = inner.node("Minus", {formal, caught});
  inside.outputs = {made.id(), made.id(), caught.id(), formal.id()};
  Node call;
  call.op = &toy_call;
  call.inputs = {p.toy.x.id()};
  call.subgraphs = {{"body", std::make_shared<Graph>(inside), {outer.id()}}};
  call.outputs = {p.toy.graph.add_temporary("called")};
  p.toy.graph[call.outputs[0]].type = type;
  p.toy.graph.nodes.push_back(call);
  p.output("y", b.value(call.outputs[0]));
  CHECK(p.text() ==
        "  graph graph\n"
        "    input x: tensor(float)[2, 3]\n"
        "    Plus = Plus-21(x, x)\n"
        "    y: tensor(float)[2, 3] = Call-21(x) {body = graph}\n"
        "      body y.body\n"
        "        input formal: tensor(float)[2, 3]\n"
        "        Minus: tensor(float)[2, 3] = Minus-21(formal, Plus)\n"
        "        Minus_1: tensor(float)[2, 3] = Identity-21(Minus)\n"
        "        Plus_1: tensor(float)[2, 3] = Identity-21(Plus)\n"
        "        formal_1: tensor(float)[2, 3] = Identity-21(formal)\n"
        "        output Minus: tensor(float)[2, 3]\n"
        "        output Minus_1: tensor(float)[2, 3]\n"
        "        output Plus_1: tensor(float)[2, 3]\n"
        "        output formal_1: tensor(float)[2, 3]\n"
        "    output y: tensor(float)[2, 3]\n");
}

TEST_CASE("types come back with sizes, names of dims and what they hold") {
  Symbols symbols;
  symbols.names = {"N"};
  const Type pair =
      Type::tensor(DType::int8, Dims{Dim::symbolic(0), Dim::symbolic(1), 0, 5, Dim()});
  const TypeDef def = to_definition(pair, symbols);
  CHECK(def.kind == TypeKind::tensor);
  CHECK(def.dtype == DType::int8);
  CHECK(*def.dims == std::vector<DimDef>{DimName("N"), {}, std::int64_t{0}, std::int64_t{5}, {}});
  CHECK(def.element == nullptr);
  Type unranked = pair;
  unranked.dims.reset();
  CHECK_FALSE(to_definition(unranked, symbols).dims.has_value());
  Type list;
  list.kind = TypeKind::sequence;
  list.element = unranked;
  const TypeDef held = to_definition(list, symbols);
  CHECK(held.kind == TypeKind::sequence);
  REQUIRE(held.element != nullptr);
  CHECK(held.element->dtype == DType::int8);
}

}  // namespace ondine::test
