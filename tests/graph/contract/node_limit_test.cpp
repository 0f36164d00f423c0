#include "graph/contract/node_limit.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/ir/graph.h"

using namespace ondine;
using namespace ondine::graph;

namespace {

bool has_room(const Graph& graph, std::uint64_t more) {
  try {
    require_room(graph, more);
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
    return false;
  }
}

}  // namespace

TEST_CASE("a graph has room up to the innermost limit of nodes") {
  Graph graph;
  graph.nodes.resize(3);
  CHECK(has_room(graph, std::uint64_t{1} << 40));
  {
    const NodeLimit outer(5);
    CHECK(has_room(graph, 2));
    CHECK_FALSE(has_room(graph, 3));
    {
      const NodeLimit inner(3);
      CHECK(has_room(graph, 0));
      CHECK_FALSE(has_room(graph, 1));
      CHECK_THROWS_WITH(require_room(graph), Catch::Contains("more than the limit of 3 nodes"));
    }
    {
      const NodeLimit inner(2);
      CHECK_FALSE(has_room(graph, 0));
    }
    CHECK(has_room(graph, 2));
    CHECK_FALSE(has_room(graph, 3));
  }
  CHECK(has_room(graph, std::uint64_t{1} << 40));
}
