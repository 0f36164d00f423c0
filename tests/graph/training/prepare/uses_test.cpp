// Who makes the values of a graph.
#include "graph/training/prepare/uses.h"

#include <catch2/catch.hpp>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/prediction/logits.h"
#include "graph/training/prepare/value_trace.h"
#include "tests/support/models.h"

using namespace ondine;
using test::node;

TEST_CASE("producers are known by every output that has a name") {
  graph::GraphDef graph;
  graph.nodes = {node("Split", {"x"}, {"a", "", "b"}),
                 node("Relu", {"a"}, {"c"}, {}, "org.example"), node("Relu", {"b"}, {"d"})};
  const graph::Producers producers = graph::producers_of(graph);
  CHECK(producers.size() == 4);
  CHECK(producers.at("a") == graph.nodes.data());
  CHECK(producers.at("b") == graph.nodes.data());
  CHECK(producers.at("c") == &graph.nodes[1]);
  CHECK(graph::standard_producer(producers, "d") == &graph.nodes[2]);
  CHECK(graph::standard_producer(producers, "c") == nullptr);  // of another domain
  CHECK(graph::standard_producer(producers, "x") == nullptr);
  CHECK(graph::standard_producer(producers, "") == nullptr);
  CHECK(graph::is_standard(graph.nodes[2], "Relu"));
  CHECK_FALSE(graph::is_standard(graph.nodes[2], "Abs"));
  CHECK_FALSE(graph::is_standard(graph.nodes[1], "Relu"));
}
namespace {

bool is_linear(const graph::GraphDef& graph, const std::string& value) {
  graph::ValueTrace trace(graph, {});
  return graph::is_made_by_linear_layer(trace, value);
}

}  // namespace

TEST_CASE("a bias and a factor leave the output of a linear layer one") {
  graph::GraphDef graph;
  graph.initializers = {{"w", Tensor(DType::float32, Shape{2, 3}), "", {}},
                        {"b", Tensor(DType::float32, Shape{3}), "", {}}};
  graph.nodes = {node("MatMul", {"x", "w"}, {"m"}), node("Add", {"b", "m"}, {"a"}),
                 node("Mul", {"a", "b"}, {"y"})};
  CHECK(is_linear(graph, "y"));
  CHECK_FALSE(is_linear(graph, "x"));
  graph.nodes[0].domain = "org.example";
  CHECK_FALSE(is_linear(graph, "y"));
}
