// Helpers of the passes, on graphs whose values are looked at one by one.
#include "graph/passes/rewrite.h"

#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

using Ids = std::vector<ValueId>;
using Flags = std::vector<bool>;

// A node of each kind of reader: input 0, an omitted input, a reference and a capture.
Node reader(ValueId input, ValueId reference, ValueId capture) {
  Node node;
  node.op = &toy_call;
  node.inputs = {input, no_value};
  node.references = {reference};
  node.subgraphs = {{"body", std::make_shared<Graph>(), {capture}}};
  return node;
}

}  // namespace

TEST_CASE("replaced values are replaced in inputs, references and captures, and nowhere else") {
  ToyGraph toy;
  const ValueId old = toy.floats({1}).id();
  const ValueId fresh = toy.floats({2}).id();
  const ValueId x = toy.x.id();
  Substitution substitution(toy.graph);
  CHECK(substitution[old] == old);
  CHECK(substitution[no_value] == no_value);
  substitution.replace(old, fresh);
  CHECK(substitution[old] == fresh);
  CHECK(substitution[x] == x);
  const auto changed = [&](ValueId input, ValueId reference, ValueId capture) {
    Node node = reader(input, reference, capture);
    const bool result = substitution.apply(node);
    CHECK(node.inputs == Ids{substitution[input], no_value});
    CHECK(node.references == Ids{substitution[reference]});
    CHECK(node.subgraphs[0].captures == Ids{substitution[capture]});
    return result;
  };
  CHECK_FALSE(changed(x, x, fresh));
  CHECK(changed(old, x, x));
  CHECK(changed(x, old, x));
  CHECK(changed(x, x, old));
  CHECK(changed(old, old, old));
}

TEST_CASE("a value that takes the place of another one is itself replaced by what took its place") {
  ToyGraph toy;
  const ValueId first = toy.floats({1}).id();
  const ValueId second = toy.floats({2}).id();
  Substitution substitution(toy.graph);
  substitution.replace(first, toy.x.id());
  substitution.replace(second, first);
  CHECK(substitution[second] == toy.x.id());
}

TEST_CASE("outputs of the graph and of its nodes are marked, one flag for each value") {
  ToyGraph toy;
  const Val sum = toy.builder.node("Plus", {toy.x, toy.x});
  toy.graph.nodes[0].outputs.push_back(no_value);
  toy.builder.node("Minus", {sum, toy.x});
  toy.output(sum);
  CHECK(output_flags(toy.graph) == Flags{false, true, false});
  CHECK(produced_flags(toy.graph) == Flags{false, true, true});
}

TEST_CASE("values that nothing mentions go, all others stay in their order with what they are") {
  ToyGraph toy;
  Graph& graph = toy.graph;
  graph.name = "named";
  graph.symbols = std::make_shared<Symbols>();
  const Type type = toy.x.type();
  const ValueId unread_input = graph.add_value("unread_input", type);
  graph.inputs.push_back(unread_input);
  graph.add_value("unused_1", type);
  const ValueId declared = graph.add_value("declared", type);
  graph[declared].declared = Type::tensor(DType::float32, Shape{5});
  const ValueId constant = graph.add_value("constant", type);
  graph[constant].constant = Tensor::scalar(4.0F);
  graph[constant].known_dims = Dims{7};
  graph.add_value("unused_2", type);
  const ValueId referred = graph.add_value("referred", type);
  const ValueId caught = graph.add_value("caught", type);
  const ValueId made = graph.add_value("made", type);
  const ValueId output = graph.add_value("output", type);
  graph.add_value("unused_3", type);
  Node node = reader(constant, referred, caught);
  node.outputs = {made, no_value};
  graph.nodes.push_back(node);
  graph.outputs = {output, made};
  const auto symbols = graph.symbols;
  const Graph kept = without_unused_values(graph);
  CHECK(kept.name == "named");
  CHECK(kept.symbols == symbols);
  std::vector<std::string> names;
  for (const GraphValue& value : kept.values) names.push_back(value.name);
  CHECK(names == std::vector<std::string>{"x", "unread_input", "declared", "constant", "referred",
                                          "caught", "made", "output"});
  CHECK(kept.inputs == Ids{0, 1});
  CHECK(kept.outputs == Ids{7, 6});
  REQUIRE(kept.nodes.size() == 1);
  CHECK(kept.nodes[0].inputs == Ids{3, no_value});
  CHECK(kept.nodes[0].references == Ids{4});
  CHECK(kept.nodes[0].subgraphs[0].captures == Ids{5});
  CHECK(kept.nodes[0].outputs == Ids{6, no_value});
  CHECK(kept.values[1].type == type);
  CHECK(*kept.values[2].declared == Type::tensor(DType::float32, Shape{5}));
  CHECK(kept.values[3].constant->identical(Tensor::scalar(4.0F)));
  CHECK(*kept.values[3].known_dims == Dims{7});
  CHECK(kept.find("output") == 7);
  CHECK(kept.find("unused_2") == no_value);
}

TEST_CASE("constants stay that a node reads, names or captures or that are an output") {
  ToyGraph toy;
  const std::vector<ValueId> ids{toy.floats({0}).id(), toy.floats({1}).id(), toy.floats({2}).id(),
                                 toy.floats({3}).id(), toy.floats({4}).id()};
  toy.graph.nodes.push_back(reader(ids[0], ids[1], ids[2]));
  toy.graph.nodes.back().references.push_back(no_value);
  toy.graph.outputs = {ids[3]};
  drop_unread_constants(toy.graph);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CHECK(toy.graph[ids[i]].constant->defined() == (i != 4));
  }
}

TEST_CASE("nodes that are kept close ranks and know where they go") {
  ToyGraph toy;
  for (int i = 0; i < 5; ++i) toy.builder.node(i % 2 == 0 ? "Plus" : "Minus", {toy.x, toy.x});
  std::vector<std::size_t> positions;
  keep_nodes(toy.graph, [&](Node& node, std::size_t position) {
    positions.push_back(position);
    return node.op == &toy_plus;
  });
  CHECK(positions == std::vector<std::size_t>{0, 1, 1, 2, 2});
  CHECK(toy.ops() == Ops{"Plus", "Plus", "Plus"});
}

TEST_CASE("nodes are inserted before the nodes that they are for") {
  ToyGraph toy;
  for (int i = 0; i < 3; ++i) toy.builder.node("Plus", {toy.x, toy.x});
  const auto named = [](const OpDef& op) {
    Node node;
    node.op = &op;
    return node;
  };
  insert_nodes(toy.graph, {});
  CHECK(toy.ops() == Ops{"Plus", "Plus", "Plus"});
  insert_nodes(toy.graph, {{0, {named(toy_view)}}, {2, {named(toy_minus), named(toy_noise)}}});
  CHECK(toy.ops() == Ops{"View", "Plus", "Plus", "Minus", "Noise", "Plus"});
}

TEST_CASE("a property of all outputs does not ask for those that are left out") {
  Node node;
  node.outputs = {no_value, 3, no_value, 5};
  CHECK(all_outputs(node, [](ValueId id) { return id > 2; }));
  CHECK_FALSE(all_outputs(node, [](ValueId id) { return id > 3; }));
  node.outputs = {no_value};
  CHECK(all_outputs(node, [](ValueId) { return false; }));
}

}  // namespace ondine::test
