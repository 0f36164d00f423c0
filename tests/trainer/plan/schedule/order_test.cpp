// The order of nodes that frees memory early.
#include "trainer/plan/schedule/order.h"

#include <catch2/catch.hpp>

#include "tests/trainer/plan/toy_operators.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

struct Nodes : ToyGraph {
  // The first output of each node, in their new order.
  std::vector<ValueId> ordered() {
    ondine::trainer::order_nodes(graph, outside, {});
    std::vector<ValueId> outputs;
    for (const Node& node : graph.nodes) outputs.push_back(node.outputs[0]);
    return outputs;
  }
};

}  // namespace

TEST_CASE("a node that frees memory runs as soon as it can") {
  Nodes n;
  const ValueId x = n.input(1);
  const ValueId large = n.node({x}, 8);
  const ValueId other = n.node({x}, 4);
  const ValueId small = n.node({large}, 2);
  n.graph.outputs = {n.node({other, small}, 1)};
  CHECK(n.ordered() == std::vector<ValueId>{large, small, other, n.graph.outputs[0]});
}

TEST_CASE("the last reader of a value frees nothing while a view of it has readers") {
  Nodes n;
  const ValueId x = n.input(1);
  const ValueId value = n.node({x}, 8);
  const ValueId large = n.node({x}, 20);
  const ValueId first = n.node({value, large}, 8);
  const ValueId viewed = n.node({value}, 8, view);
  const ValueId second = n.node({viewed, large}, 1);
  const ValueId third = n.node({value}, 8);
  n.graph.outputs = {n.node({first, second, third}, 1)};
  CHECK(n.ordered() ==
        std::vector<ValueId>{value, large, first, viewed, second, third, n.graph.outputs[0]});
}
