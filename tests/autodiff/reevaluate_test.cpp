#include "autodiff/reevaluate.h"

#include <catch2/catch.hpp>

#include "tests/autodiff/graph_writer.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

using autodiff::Reevaluation;
using Names = std::vector<std::string>;

namespace {

const Node& producer(const Graph& graph, ValueId id) {
  for (const Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return node;
  }
  FAIL("no node computes the value");
  return graph.nodes[0];
}

}  // namespace

TEST_CASE("only what lies between a replaced tensor and the result is computed again") {
  GraphWriter w;
  const Val a = w.input("a");
  const Val b = w.input("b");
  const Val c = w.input("c");
  const Val m = a + b;
  const Val k = unary("Exp", b);          // does not depend on m
  const Val unread = unary("Log", m);     // the result does not depend on it
  const Val y = unary("Neg", m * k) + a;  // by m, k and a
  const std::size_t before = w.graph.nodes.size();
  autodiff::Dataflow again_flow(w.graph);
  Reevaluation again(w.builder, again_flow);
  const Val leaf = again.replace(m, c);
  const Val result = again.evaluate(y);
  CHECK(unread);
  CHECK(operators_of(w.graph, before) == Names{"Add", "Identity", "Mul", "Neg"});
  CHECK(result.id() != y.id());
  const Node& sum = producer(w.graph, result.id());
  CHECK(sum.inputs[1] == a.id());
  const Node& product = producer(w.graph, producer(w.graph, sum.inputs[0]).inputs[0]);
  CHECK(product.inputs == std::vector<ValueId>{leaf.id(), k.id()});
  CHECK(producer(w.graph, leaf.id()).inputs == std::vector<ValueId>{c.id()});
}

TEST_CASE("a result that does not depend on what is replaced stays as it is") {
  GraphWriter w;
  const Val a = w.input("a");
  const Val b = w.input("b");
  const Val y = b * b;
  const Val other = a * b;
  CHECK(other);
  autodiff::Dataflow again_flow(w.graph);
  Reevaluation again(w.builder, again_flow);
  again.replace(a, b);
  const std::size_t before = w.graph.nodes.size();
  CHECK(again.evaluate(y).id() == y.id());
  CHECK(w.graph.nodes.size() == before);
}

TEST_CASE("a tensor that is replaced by the same value twice has one leaf, else two") {
  GraphWriter w;
  const Val a = w.input("a");
  const Val b = w.input("b");
  const Val c = w.input("c");
  autodiff::Dataflow same_flow(w.graph);
  Reevaluation same(w.builder, same_flow);
  const Val leaf = same.replace(a, b);
  CHECK(leaf.id() != b.id());
  CHECK(same.replace(a, b).id() == leaf.id());
  CHECK(w.graph.nodes.size() == 1);
  autodiff::Dataflow different_flow(w.graph);
  Reevaluation different(w.builder, different_flow);
  const Val first = different.replace(a, b);
  const Val second = different.replace(a, c);
  CHECK(first.id() != second.id());
  CHECK(different.evaluate(a).id() == second.id());
}

TEST_CASE("a replaced tensor keeps its value where it depends on another replaced one") {
  GraphWriter w;
  const Val a = w.input("a");
  const Val b = w.input("b");
  const Val c = w.input("c");
  const Val m = unary("Exp", a);
  const Val y = m * a;
  autodiff::Dataflow again_flow(w.graph);
  Reevaluation again(w.builder, again_flow);
  const Val new_a = again.replace(a, b);
  const Val new_m = again.replace(m, c);
  const Node& product = producer(w.graph, again.evaluate(y).id());
  CHECK(product.inputs == std::vector<ValueId>{new_m.id(), new_a.id()});
}
