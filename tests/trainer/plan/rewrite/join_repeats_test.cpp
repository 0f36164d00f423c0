// Values that a node gives by the way instead of another that computes them again.
#include "trainer/plan/rewrite/join_repeats.h"

#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"
#include "tests/trainer/plan/toy_operators.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

Attributes by(const char* approximation) { return {{"approximate", std::string(approximation)}}; }

// dx of (dy, x) by `gradient`, y of `argument` by `gelu`, and what reads both.
struct Nodes : ToyGraph {
  ValueId dy = input(1), x = input(1), dx, y;

  Nodes(const Attributes& gradient, const Attributes& gelu, bool same_argument = true) {
    const ValueId other = input(1);
    dx = node({dy, x}, 1, *catalogue().find(ondine_domain, "GeluGrad"));
    graph.nodes.back().attributes = gradient;
    y = node({same_argument ? x : other}, 1, *catalogue().find("", "Gelu"));
    graph.nodes.back().attributes = gelu;
    graph.outputs = {node({dx, y}, 1)};
  }
  bool join() { return ondine::trainer::join_repeats(graph, {}); }
};

}  // namespace

TEST_CASE("Gelu of what its gradient reads becomes an output of that") {
  Nodes n(by("tanh"), by("tanh"));
  CHECK(n.join());
  REQUIRE(n.graph.nodes.size() == 2);
  CHECK(n.graph.nodes[0].op->name == "GeluGrad");
  CHECK(n.graph.nodes[0].outputs == std::vector<ValueId>{n.dx, n.y});
  CHECK_FALSE(n.join());
}

TEST_CASE("Gelu of something else or by another formula is computed by itself") {
  CHECK_FALSE(Nodes(by("tanh"), by("none")).join());
  CHECK_FALSE(Nodes(by("none"), by("none"), false).join());
}

TEST_CASE(
    "a gated activation of what its gradient reads becomes an output between its derivatives") {
  for (const bool same_order : {true, false}) {
    ToyGraph n;
    const ValueId dy = n.input(1), a = n.input(1), b = n.input(1);
    const ValueId da =
        n.node({dy, a, b}, 1, *catalogue().find(ondine_domain, "GatedActivationGrad"));
    Node& gradient = n.graph.nodes.back();
    gradient.attributes = {{"activation", std::string("Swish")}};
    const ValueId db = n.graph.add_temporary("db", n.graph[da].type);
    gradient.outputs = {da, no_value, db};
    const std::vector<ValueId> operands = same_order ? std::vector{a, b} : std::vector{b, a};
    const ValueId y = n.node(operands, 1, *catalogue().find(ondine_domain, "GatedActivation"));
    n.graph.nodes.back().attributes = {{"activation", std::string("Swish")}};
    n.graph.outputs = {n.node({da, db, y}, 1)};
    CHECK(ondine::trainer::join_repeats(n.graph, {}) == same_order);
    if (same_order) CHECK(n.graph.nodes[0].outputs == std::vector<ValueId>{da, y, db});
  }
}
