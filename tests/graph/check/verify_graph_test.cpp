#include "graph/check/verify_graph.h"

#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

std::string defect(const Graph& graph) {
  try {
    verify_graph(graph);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::internal);
    return error.what();
  }
  return {};
}

TEST_CASE("a graph has one source for each value, before its readers, with ids in range") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val y = b.node("Plus", {toy.x, toy.floats({1, 2, 3})});
  toy.output(b.node("Minus", {y, toy.x}));
  CHECK(defect(toy.graph) == "");

  Graph broken = toy.graph;
  std::swap(broken.nodes[0], broken.nodes[1]);
  CHECK_THAT(defect(broken), Catch::Contains("before it is defined"));
  broken = toy.graph;
  broken.nodes[1].outputs = broken.nodes[0].outputs;
  CHECK_THAT(defect(broken), Catch::Contains("is defined twice"));
  broken = toy.graph;
  broken.nodes[0].inputs[0] = 99;
  CHECK_THAT(defect(broken), Catch::Contains("value id 99 is out of range"));
  broken = toy.graph;
  broken.outputs = {-1};
  CHECK_THAT(defect(broken), Catch::Contains("value id -1"));
  broken = toy.graph;
  broken[y.id()].type = {};
  CHECK_THAT(defect(broken), Catch::Contains("has no type"));
  broken = toy.graph;
  broken.nodes[0].subgraphs.push_back({"body", nullptr, {}});
  CHECK_THAT(defect(broken), Catch::Contains("has no graph"));
}

}  // namespace
}  // namespace ondine::test
