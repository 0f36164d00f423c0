#include "graph/ir/graph.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace ondine;
using namespace ondine::graph;

namespace {

std::vector<ValueId> listed(const AllInputs& inputs) { return {inputs.begin(), inputs.end()}; }

}  // namespace

TEST_CASE("values of a graph are found by their names, however many there are") {
  Graph graph;
  CHECK(graph.find("v0") == no_value);
  for (int i = 0; i < 1000; ++i) {
    CHECK(graph.add_value("v" + std::to_string(i)) == i);
  }
  for (int i = 0; i < 1000; ++i) {
    CHECK(graph.find("v" + std::to_string(i)) == i);
  }
  CHECK(graph.find("v1000") == no_value);
  CHECK(graph.find("") == no_value);
}

TEST_CASE("of two values with one name the first is found, also when more follow") {
  Graph graph;
  const ValueId first = graph.add_value("twice");
  graph.add_value("twice");
  CHECK(graph.find("twice") == first);
  for (int i = 0; i < 100; ++i) graph.add_value(std::to_string(i));
  CHECK(graph.find("twice") == first);
}

TEST_CASE("a copy of a graph finds its own values") {
  Graph graph;
  graph.add_value("a");
  Graph copy = graph;
  const ValueId b = copy.add_value("b");
  CHECK(copy.find("a") == 0);
  CHECK(copy.find("b") == b);
  CHECK(graph.find("b") == no_value);
}

TEST_CASE("temporaries take names that no value has") {
  Graph graph;
  CHECK(graph[graph.add_temporary("x")].name == "x");
  CHECK(graph[graph.add_temporary("x")].name == "x_1");
  graph.add_value("y_2");
  graph.add_value("y");
  CHECK(graph[graph.add_temporary("y")].name == "y_3");
}

TEST_CASE("all inputs of a node are its inputs and then the captures of each subgraph") {
  Node node;
  node.inputs = {3, no_value, 1};
  CHECK(listed(node.all_inputs()) == std::vector<ValueId>{3, no_value, 1});
  node.subgraphs.push_back({"then_branch", nullptr, {4, 5}});
  node.subgraphs.push_back({"else_branch", nullptr, {}});
  node.subgraphs.push_back({"other", nullptr, {3}});
  CHECK(listed(node.all_inputs()) == std::vector<ValueId>{3, no_value, 1, 4, 5, 3});
  CHECK(node.all_inputs().size() == 6);
  CHECK(node.all_inputs()[4] == 5);
}
