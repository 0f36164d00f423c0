// Which outer nodes a subgraph gets while a Gradient in it is expanded, and what it captures.
#include "autodiff/outer_path.h"

#include <catch2/catch.hpp>

#include "tests/autodiff/graph_writer.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

using autodiff::OuterPath;
using Names = std::vector<std::string>;

namespace {

// A subgraph with a formal input `s` that captures outer values under their names.
struct Inside {
  GraphWriter writer;
  std::vector<ValueId> captures;

  Inside() { writer.input("s"); }
  Val capture(Val outer) {
    const GraphValue& value = outer.builder().graph()[outer.id()];
    const ValueId id = writer.graph.add_value(value.name, value.type);
    writer.graph.inputs.push_back(id);
    captures.push_back(outer.id());
    return writer.builder.value(id);
  }
  Graph& graph() { return writer.graph; }
  Names input_names() {
    Names names;
    for (const ValueId id : graph().inputs) names.push_back(graph()[id].name);
    return names;
  }
};

Val named(GraphWriter& writer, Val value, const std::string& name) {
  const ValueId id = writer.graph.add_value(name, value.type());
  writer.builder.alias(value, id);
  return writer.builder.value(id);
}

}  // namespace

TEST_CASE("a subgraph gets the outer nodes between the named tensor and its captures, no others") {
  GraphWriter outer;
  const Val a = outer.input("a");
  const Val b = outer.input("b");
  const Val before = unary("Exp", b);  // does not depend on a
  const Val m = named(outer, a * before, "m");
  const Val aside = unary("Log", a);  // no capture depends on it
  CHECK(aside);
  Inside inside;
  const Val inner_m = inside.capture(m);
  const Val inner_a = inside.capture(a);
  Val y = inner_m * inner_m;
  inside.writer.gradient({inner_a}, {inner_a}, y);
  autodiff::Dataflow flow(outer.graph);
  OuterPath path(outer.graph, flow, inside.graph(), inside.captures);
  // Mul and Identity of the outer graph come first; m is computed, exp(b) captured.
  REQUIRE(inside.graph().nodes.size() == 4);
  CHECK(inside.graph().nodes[0].op->name == "Mul");
  CHECK(inside.graph().nodes[1].op->name == "Identity");
  CHECK(inside.graph().nodes[1].outputs[0] == inner_m.id());
  CHECK(inside.captures == std::vector<ValueId>{a.id(), before.id()});
  CHECK(inside.input_names().size() == 3);
  CHECK(inside.input_names()[0] == "s");
  CHECK(inside.input_names()[1] == "a");
  const Node& product = inside.graph().nodes[0];
  CHECK(product.inputs == std::vector<ValueId>{inner_a.id(), inside.graph().inputs[2]});

  path.remove_from(inside.graph());
  // Both computed values are captured instead.
  REQUIRE(inside.graph().nodes.size() == 2);
  CHECK(inside.graph().nodes[0].op->name == "Mul");
  CHECK(inside.captures.size() == 4);
  CHECK(inside.captures.back() == m.id());
  CHECK(inside.graph().inputs.back() == inner_m.id());
}

TEST_CASE("without a path from a named tensor to a capture nothing is copied") {
  GraphWriter outer;
  const Val a = outer.input("a");
  const Val b = outer.input("b");
  const Val m = named(outer, a * b, "m");
  const Val k = named(outer, unary("Exp", b), "k");
  const auto unchanged = [&](const std::vector<Val>& captured, std::size_t x) {
    Inside inside;
    std::vector<Val> inner;
    for (const Val one : captured) inner.push_back(inside.capture(one));
    const Val y = inner[0] * inner[0];
    inside.writer.gradient({inner[x]}, {inner[x]}, y);
    const auto before = inside.captures;
    autodiff::Dataflow flow(outer.graph);
    OuterPath path(outer.graph, flow, inside.graph(), inside.captures);
    path.remove_from(inside.graph());
    return inside.graph().nodes.size() == 2 && inside.captures == before;
  };
  CHECK(unchanged({k, a}, 1));     // k does not depend on a
  CHECK(unchanged({m, a, b}, 0));  // m is named itself: nothing lies between m and m
  CHECK_FALSE(unchanged({m, a}, 1));
}

TEST_CASE("y alone is not a tensor by which to differentiate") {
  // The Gradient names a value inside; m is only its y.
  GraphWriter outer;
  const Val a = outer.input("a");
  const Val m = named(outer, unary("Exp", a), "m");
  const Val n = named(outer, unary("Exp", m), "n");
  Inside inside;
  const Val inner_m = inside.capture(m);
  const Val inner_n = inside.capture(n);
  const Val s = inside.writer.builder.value(inside.graph().inputs[0]);
  inside.writer.gradient({s}, {s}, inner_m);
  const Val other = inner_n * s;
  CHECK(other);
  autodiff::Dataflow flow(outer.graph);
  const OuterPath path(outer.graph, flow, inside.graph(), inside.captures);
  CHECK(inside.graph().nodes.size() == 2);
}

TEST_CASE("what is captured for a copied node keeps its constant elements") {
  GraphWriter outer;
  const Val a = outer.input("a");
  const Val shape = outer.builder.int64s({3, 1});
  const Val m = named(outer, reshape(a, shape), "m");
  Inside inside;
  const Val inner_m = inside.capture(m);
  const Val inner_a = inside.capture(a);
  const Val y = inner_m * inner_m;
  inside.writer.gradient({inner_a}, {inner_a}, y);
  autodiff::Dataflow flow(outer.graph);
  const OuterPath path(outer.graph, flow, inside.graph(), inside.captures);
  const Node& copy = inside.graph().nodes[0];
  REQUIRE(copy.op->name == "Reshape");
  const GraphValue& dims = inside.graph()[copy.inputs[1]];
  REQUIRE(dims.constant->defined());
  CHECK(dims.constant->item<std::int64_t>() == 3);
  CHECK(dims.type == outer.graph[shape.id()].type);
  CHECK(inside.graph()[inner_m.id()].type == Type::tensor(DType::float64, Shape{3, 1}));
}

TEST_CASE("an output that a derivative added to a copied node is added to the outer node") {
  GraphWriter outer;
  const Val a = outer.input("a");
  const Val ratio = outer.builder.constant(Tensor::scalar(0.5));
  const Val training = outer.builder.constant(Tensor::scalar(true));
  const Val dropped = outer.builder.node("Dropout", {a, ratio, training});
  const Val m = named(outer, dropped, "m");
  Inside inside;
  const Val inner_m = inside.capture(m);
  const Val inner_a = inside.capture(a);
  inside.writer.gradient({inner_a}, {inner_a}, inner_m * inner_m);
  autodiff::Dataflow flow(outer.graph);
  OuterPath path(outer.graph, flow, inside.graph(), inside.captures);
  Graph expanded = autodiff::expand(inside.graph(), catalogue());
  REQUIRE(outer.graph.nodes[0].op->name == "Dropout");
  REQUIRE(outer.graph.nodes[0].outputs.size() == 1);
  path.remove_from(expanded);
  REQUIRE(outer.graph.nodes[0].outputs.size() == 2);
  const ValueId mask = outer.graph.nodes[0].outputs[1];
  CHECK(outer.graph[mask].type.dtype == DType::boolean);
  CHECK(std::count(inside.captures.begin(), inside.captures.end(), mask) == 1);
  CHECK(expanded.inputs.size() == inside.captures.size() + 1);
  CHECK(count_of(expanded, "Dropout") == 0);
  CHECK(count_of(expanded, "Gradient") == 0);
}
