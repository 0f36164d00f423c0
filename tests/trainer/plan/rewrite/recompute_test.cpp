#include "trainer/plan/rewrite/recompute.h"

#include <catch2/catch.hpp>

namespace ondine::trainer {

using namespace graph;  // NOLINT

TEST_CASE("the traffic of a node is what it reads and its largest output, whichever that is") {
  Graph graph;
  const auto floats = [&](std::int64_t count) {
    return graph.add_temporary("v", Type::tensor(DType::float32, Dims{Dim(count)}));
  };
  Node node;
  node.inputs = {floats(4), no_value, floats(1)};
  node.outputs = {floats(2), no_value, floats(8)};
  CHECK(traffic_of(node, graph) == 4 * (4 + 1 + 8));
  node.outputs = {node.outputs[2], node.outputs[0]};
  CHECK(traffic_of(node, graph) == 4 * (4 + 1 + 8));
  node.outputs = {no_value};
  CHECK(traffic_of(node, graph) == 4 * (4 + 1));
}

}  // namespace ondine::trainer
