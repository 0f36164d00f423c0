// Nodes as they are appended, expanded and read by gradient rules.
#include "graph/contract/builder.h"

#include <array>

#include <catch2/catch.hpp>

#include "graph/contract/infer.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT
using Ids = std::vector<ValueId>;
using Names = std::vector<std::string>;

void infer_all(InferContext& context) {
  const Type type =
      context.has_input(0) ? context.input(0) : Type::tensor(DType::float32, Shape{2, 3});
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output(i, type);
}

const OpDef identity{.name = "Identity", .infer = infer_all};
const OpDef simple{.name = "Simple", .infer = infer_all};
const OpDef split{.name = "Split", .infer = infer_all};
// Output 0 is Simple(Simple(x)), there is no output 1, output 2 is x.
const OpDef whole{.name = "Whole", .infer = infer_all, .expand = [](ExpandContext& context) {
                    Builder& b = context.builder();
                    return std::vector<Val>{b.node("Nested", {context.x(0)}), Val(), context.x(0)};
                  }};
const OpDef nested{.name = "Nested", .infer = infer_all, .expand = [](ExpandContext& context) {
                     Builder& b = context.builder();
                     return std::vector<Val>{b.node("Simple", {b.node("Simple", {context.x(0)})})};
                   }};
const OpDef refusing{
    .name = "Refusing",
    .infer = [](InferContext& context) { context.reject("never"); },
    .expand = [](ExpandContext& context) { return std::vector<Val>{context.x(0)}; }};

const Catalogue& operators() {
  static const std::vector<const OpDef*> list{&identity, &simple, &split,
                                              &whole,    &nested, &refusing};
  static const Catalogue catalogue(list);
  return catalogue;
}

struct Network {
  Graph graph;
  Builder builder{graph, operators()};
  Val x = builder.value(graph.add_value("x", Type::tensor(DType::float32, Shape{2, 3})));

  std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (const Node& node : graph.nodes) names.emplace_back(node.op->name);
    return names;
  }
  Node made(const OpDef& op, Ids outputs) {
    Node node;
    node.op = &op;
    node.version = 3;
    node.inputs = {x.id()};
    node.outputs = std::move(outputs);
    return node;
  }
};

}  // namespace

TEST_CASE("an appended node has its operator, version, attributes, inputs and typed outputs") {
  Network n;
  const std::array inputs{n.x, Val(), n.x, Val(), Val()};
  const auto outputs = n.builder.nodes("Split", inputs, {{"a", std::int64_t{5}}}, 3, {}, 7);
  REQUIRE(n.graph.nodes.size() == 1);
  const Node& node = n.graph.nodes[0];
  CHECK(node.op == &split);
  CHECK(node.version == 7);
  CHECK(NodeView(node).attr_int("a", 0) == 5);
  CHECK(node.inputs == Ids{n.x.id(), no_value, n.x.id()});
  REQUIRE(outputs.size() == 3);
  CHECK(node.outputs == Ids{outputs[0].id(), outputs[1].id(), outputs[2].id()});
  for (const Val one : outputs) CHECK(one.type() == n.x.type());
  n.builder.node("Split", {Val()}, {});
  CHECK(n.graph.nodes.size() == 2);
  CHECK(n.graph.nodes[1].inputs.empty());
  CHECK(n.graph.nodes[1].version == Builder::latest_version);
  CHECK_THROWS_WITH(Val().type(), Catch::Contains("type of an empty value"));
  CHECK_THROWS_WITH(n.builder.node("Other", {n.x}),
                    Catch::Contains("operator Other is not in the catalogue"));
}

TEST_CASE("nodes are expanded where the rule says so, through any depth and in subgraphs") {
  Network n;
  const ValueId first = n.graph.add_temporary("first");
  const ValueId third = n.graph.add_temporary("third");
  n.builder.append(n.made(whole, {first, no_value, third}));
  CHECK(n.ops() == Names{"Whole"});
  n.graph.nodes.clear();
  n.builder.set_expand([](const Node& node) { return node.op->name == "Whole"; });
  n.builder.append(n.made(whole, {first, no_value, third}));
  CHECK(n.ops() == Names{"Nested", "Identity", "Identity"});
  n.graph.nodes.clear();
  // Operators without an expansion stay.
  n.builder.set_expand([](const Node&) { return true; });
  n.builder.append(n.made(whole, {first, no_value, third}));
  REQUIRE(n.ops() == Names{"Simple", "Simple", "Identity", "Identity", "Identity"});
  CHECK(n.graph.nodes[3].outputs == Ids{first});
  CHECK(n.graph.nodes[3].inputs == n.graph.nodes[2].outputs);
  CHECK(n.graph.nodes[4].outputs == Ids{third});
  CHECK(n.graph.nodes[4].inputs == Ids{n.x.id()});
  CHECK(n.graph.nodes[4].version == Builder::latest_version);
  CHECK(n.graph[third].type == n.x.type());

  Graph inside;
  Builder inner = n.builder.inside(inside);
  const Val y = inner.value(inside.add_value("y", n.x.type()));
  inner.node("Nested", {y});
  CHECK(inside.nodes.size() == 3);
  CHECK(n.graph.nodes.size() == 5);
}

TEST_CASE("the nodes of an expansion name the node of the model that they were made from") {
  Network n;
  Node node = n.made(whole, {n.graph.add_temporary("y")});
  node.name = "w1";
  n.builder.append(node);
  CHECK(n.graph.nodes[0].origin == nullptr);
  CHECK(describe(n.graph.nodes[0], n.graph) == "node 'w1' (Whole-3)");
  n.graph.nodes.clear();
  n.builder.set_expand([](const Node&) { return true; });
  n.builder.append(node);
  REQUIRE(n.ops() == Names{"Simple", "Simple", "Identity", "Identity"});
  for (const Node& one : n.graph.nodes) {
    CHECK(describe(one, n.graph) == std::string(one.op->name) + " of node 'w1' (Whole-3)");
  }
  // Nodes that come later were not.
  n.builder.node("Simple", {n.x});
  CHECK(n.graph.nodes.back().origin == nullptr);
}

TEST_CASE("the outermost origin counts, also in subgraphs and of what already has one") {
  Network n;
  Node outer = n.made(simple, {});
  outer.name = "outer";
  Node inner = outer;
  inner.name = "inner";
  {
    const MadeFrom first(n.builder, outer, "the derivative of ");
    const MadeFrom second(n.builder, inner);
    n.builder.node("Simple", {n.x});
    Graph inside;
    Builder below = n.builder.inside(inside);
    below.node("Simple", {below.value(inside.add_value("y", n.x.type()))});
    CHECK(describe(inside.nodes[0], inside) ==
          "Simple of the derivative of node 'outer' (Simple-3)");
  }
  Node derived = n.graph.nodes[0];
  CHECK(describe(derived, n.graph) == "Simple of the derivative of node 'outer' (Simple-3)");
  n.builder.set_expand([](const Node& node) { return node.op->name == "Nested"; });
  derived.op = &nested;
  n.builder.append(derived);
  CHECK(n.graph.nodes.back().origin == derived.origin);
}

TEST_CASE("an output that an expansion lacks, or a node that its operator rejects, is refused") {
  Network n;
  n.builder.set_expand([](const Node&) { return true; });
  const auto three = [&] {
    return Ids{n.graph.add_temporary("a"), n.graph.add_temporary("b"), n.graph.add_temporary("c")};
  };
  CHECK_THROWS_WITH(n.builder.append(n.made(whole, three())),
                    Catch::Contains("output 1 is not supported"));
  Ids outputs = three();
  outputs[1] = no_value;
  outputs.push_back(outputs[0]);
  CHECK_THROWS_WITH(n.builder.append(n.made(whole, outputs)),
                    Catch::Contains("output 3 is not supported"));
  CHECK_THROWS_WITH(n.builder.append(n.made(refusing, {three()[0]})), Catch::Contains("never"));
}

TEST_CASE("a gradient rule that reads an omitted output adds it to the forward node") {
  Network n;
  n.builder.node("Simple", {n.x});
  const Val y = n.builder.node("Split", {n.x});
  const Node copy = n.graph.nodes[1];
  const Val dy = n.builder.value(n.graph.add_value("dy", n.x.type()));
  const std::array dys{dy, Val()};
  const std::array<char, 1> wanted{1};
  const GradContext context(n.builder, 1, copy, dys, wanted, {});
  CHECK(context.y(0).id() == y.id());
  CHECK(n.graph.nodes[1].outputs == Ids{y.id()});
  const Val third = context.y(2);
  CHECK(n.graph.nodes[1].outputs == Ids{y.id(), no_value, third.id()});
  CHECK(third.type() == n.x.type());
  const Val second = context.y(1);
  CHECK(n.graph.nodes[1].outputs == Ids{y.id(), second.id(), third.id()});
  CHECK(second.type() == n.x.type());
  CHECK(context.y(1).id() == second.id());
  CHECK(context.y(2).id() == third.id());
  CHECK(n.graph.nodes.size() == 2);
  CHECK(n.graph.nodes[0].outputs.size() == 1);

  CHECK(context.dy(0).id() == dy.id());
  CHECK_FALSE(context.dy(1));
  CHECK_FALSE(context.dy(2));
  CHECK(context.dy_or_zeros(0).id() == dy.id());
  CHECK(context.wants(0));
  CHECK_FALSE(context.wants(1));
}

TEST_CASE("the captures of a subgraph follow the inputs and the captures of those before") {
  Network n;
  Node node = n.made(simple, {n.graph.add_temporary("y")});
  node.inputs = {n.x.id(), n.x.id()};
  node.subgraphs = {{"one", nullptr, {n.x.id(), n.x.id(), n.x.id()}},
                    {"two", nullptr, {n.x.id()}},
                    {"three", nullptr, {}}};
  const GradContext context(n.builder, 0, node, {}, {}, {});
  CHECK(context.first_capture(0) == 2);
  CHECK(context.first_capture(1) == 5);
  CHECK(context.first_capture(2) == 6);
}

}  // namespace ondine::test
