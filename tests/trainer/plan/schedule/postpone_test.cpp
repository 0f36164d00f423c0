// Large results that are made after the peak of the arena.
#include "trainer/plan/schedule/postpone.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "graph/contract/op_def.h"
#include "tests/trainer/plan/toy_operators.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

struct Nodes : ToyGraph {
  std::vector<std::size_t> former;

  // Their positions before.
  std::vector<std::size_t> run(std::optional<std::size_t> commit_begin = {}) {
    former.resize(graph.nodes.size());
    std::iota(former.begin(), former.end(), 0);
    const std::vector<Node> before = graph.nodes;
    ondine::trainer::postpone_nodes(graph, outside, commit_begin.value_or(former.size()), former);
    for (std::size_t i = 0; i < former.size(); ++i) {
      CHECK(graph.nodes[i].outputs == before[former[i]].outputs);
    }
    return former;
  }
};

using Order = std::vector<std::size_t>;

// x -> scores; a table of them, which only the end reads; hidden, large, then the end.
struct Network : Nodes {
  ValueId x = input(1);
  ValueId scores = node({x}, 5);
  ValueId table = node({scores}, table_size);
  ValueId hidden = node({x}, 20);
  ValueId small = node({hidden}, 1);

  static constexpr std::int64_t table_size = 15;
};

}  // namespace

TEST_CASE("a large result is made just before its reader, from less that is kept for it") {
  Network n;
  n.graph.outputs = {n.node({n.table, n.small}, 1)};
  CHECK(n.run() == Order{0, 2, 3, 1, 4});
}

TEST_CASE("a result stays where it is made if what it is made of is larger or as large") {
  for (const std::int64_t size : {4, 5, 6}) {
    Nodes n;
    const ValueId x = n.input(1);
    const ValueId scores = n.node({x}, 5);
    const ValueId result = n.node({scores}, size);
    const ValueId small = n.node({n.node({x}, 20)}, 1);
    n.graph.outputs = {n.node({result, small}, 1)};
    CHECK(n.run() == (size <= 5 ? Order{0, 1, 2, 3, 4} : Order{0, 2, 3, 1, 4}));
  }
}

TEST_CASE("what others keep costs nothing more") {
  Nodes n;
  const ValueId x = n.input(1);
  const ValueId scores = n.node({x}, 5);
  const ValueId result = n.node({scores}, 3);
  const ValueId small = n.node({n.node({x}, 20)}, 1);
  n.graph.outputs = {n.node({result, small, scores}, 1)};
  CHECK(n.run() == Order{0, 2, 3, 1, 4});
}

TEST_CASE("a result that is read at the peak stays") {
  Network n;
  n.graph.nodes[2].inputs.push_back(n.table);
  n.graph.outputs = {n.node({n.table, n.small}, 1)};
  CHECK(n.run() == Order{0, 1, 2, 3, 4});
}

TEST_CASE("the earliest reader counts, and outputs of the graph are read at the end") {
  Network n;
  const ValueId early = n.node({n.small, n.table}, 1);
  n.graph.outputs = {n.node({n.table, early}, 1), n.table};
  CHECK(n.run() == Order{0, 2, 3, 1, 4, 5});
  Network unread;
  unread.graph.outputs = {unread.small, unread.table};
  CHECK(unread.run() == Order{0, 2, 3, 1});
}

TEST_CASE("nothing moves into the commit section or within it") {
  Network n;
  const ValueId last = n.node({n.small}, 1);
  n.graph.outputs = {n.node({n.table, last}, 1)};
  CHECK(n.run(4) == Order{0, 2, 3, 1, 4, 5});
  Network none;
  none.graph.outputs = {none.node({none.table, none.small}, 1)};
  CHECK(none.run(1) == Order{0, 1, 2, 3, 4});
}

TEST_CASE("what reads values outside of the arena stays, for they may be written over") {
  Network n;
  n.graph.nodes[1].inputs.push_back(n.x);
  n.graph.outputs = {n.node({n.table, n.small}, 1)};
  CHECK(n.run() == Order{0, 1, 2, 3, 4});
  for (const bool of_input : {false, true}) {
    Nodes m;
    const ValueId x = m.input(5);
    const ValueId seen = of_input ? x : m.node({x}, 5);
    const ValueId shown = m.node({seen}, 5, view);
    const ValueId table = m.node({shown, no_value}, 15);
    const ValueId small = m.node({m.node({x}, 20)}, 1);
    m.graph.outputs = {m.node({table, small}, 1)};
    CHECK(m.run() == (of_input ? Order{0, 1, 2, 3, 4} : Order{0, 1, 3, 4, 2, 5}));
  }
  Network target;
  target.outside[static_cast<std::size_t>(target.table)] = true;
  target.graph.outputs = {target.node({target.table, target.small}, 1)};
  CHECK(target.run() == Order{0, 1, 2, 3, 4});
}

TEST_CASE("several results are postponed while that lowers the peak") {
  Nodes n;
  const ValueId x = n.input(1);
  const ValueId a = n.node({x}, 1);
  const ValueId first = n.node({a}, 4);
  const ValueId second = n.node({a}, 6);
  const ValueId small = n.node({n.node({x}, 20)}, 1);
  n.graph.outputs = {n.node({first, small}, 1), n.node({second, small}, 1)};
  CHECK(n.run() == Order{0, 3, 4, 1, 5, 2, 6});
}

TEST_CASE("nothing moves that would only move the peak") {
  Nodes n;
  const ValueId x = n.input(1);
  const ValueId a = n.node({x}, 1);
  const ValueId table = n.node({a}, 10);
  const ValueId hidden = n.node({x}, 20);
  const ValueId wide = n.node({hidden}, 20);
  const ValueId last = n.node({wide}, 20);
  n.graph.outputs = {n.node({table, last, wide}, 1)};
  CHECK(n.run() == Order{0, 1, 2, 3, 4, 5});
}
