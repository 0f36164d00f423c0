#include "graph/contract/node_view.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

using namespace ondine;
using namespace ondine::graph;

namespace {

Node sample() {
  Node node;
  node.version = 13;
  node.inputs = {3, no_value, 4};
  node.outputs = {no_value, 5};
  node.attributes = {{"i", std::int64_t{2}},        {"f", 0.5F},
                     {"s", std::string("t")},       {"is", std::vector<std::int64_t>{1, 2}},
                     {"fs", std::vector<float>{1}}, {"ss", std::vector<std::string>{"a"}},
                     {"t", Tensor::scalar(4.0F)}};
  node.subgraphs = {{"then_branch", nullptr, {}}, {"else_branch", nullptr, {}}};
  return node;
}

}  // namespace

TEST_CASE("a node has the inputs and outputs that are not left out") {
  const Node node = sample();
  const NodeView view(node);
  CHECK(view.input_count() == 3);
  CHECK(view.output_count() == 2);
  const auto inputs = [&](std::size_t i) { return view.has_input(i); };
  const auto outputs = [&](std::size_t i) { return view.has_output(i); };
  CHECK((inputs(0) && !inputs(1) && inputs(2) && !inputs(3)));
  CHECK((!outputs(0) && outputs(1) && !outputs(2)));
  CHECK(view.version() == 13);
}

TEST_CASE("attributes are read by their type, or have another value where they are absent") {
  const Node node = sample();
  const NodeView view(node);
  CHECK(view.attr_int("i", 9) == 2);
  CHECK(view.attr_int("none", 9) == 9);
  CHECK(view.attr_float("f", 9) == 0.5F);
  CHECK(view.attr_float("none", 9) == 9);
  CHECK(view.attr_string("s", "u") == "t");
  CHECK(view.attr_string("none", "u") == "u");
  CHECK(view.attr_ints("is", {7}) == std::vector<std::int64_t>{1, 2});
  CHECK(view.attr_ints("none", {7}) == std::vector<std::int64_t>{7});
  CHECK(view.attr_floats("fs", {7}) == std::vector<float>{1});
  CHECK(view.attr_floats("none", {7}) == std::vector<float>{7});
  CHECK(view.attr_strings("ss") == std::vector<std::string>{"a"});
  CHECK(view.attr_strings("none").empty());
  CHECK(view.attr_tensor("t").identical(Tensor::scalar(4.0F)));
  CHECK_FALSE(view.attr_tensor("none").defined());
  CHECK(view.has_attr("i"));
  CHECK_FALSE(view.has_attr("none"));
  CHECK_THROWS_WITH(view.attr_int("f", 0),
                    Catch::Contains("attribute 'f' must not be of type FLOAT"));
}

TEST_CASE("subgraphs are found by their attribute") {
  const Node node = sample();
  const NodeView view(node);
  CHECK(view.subgraph_index("then_branch") == 0);
  CHECK(view.subgraph_index("else_branch") == 1);
  CHECK_THROWS_WITH(view.subgraph_index("body"),
                    Catch::Contains("attribute 'body' must hold a graph"));
}

TEST_CASE("an axis counts from either end of the dims") {
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    CHECK(NodeView::normalize_axis(axis, 3) == static_cast<std::size_t>(axis));
    CHECK(NodeView::normalize_axis(axis - 3, 3) == static_cast<std::size_t>(axis));
  }
  CHECK_THROWS_WITH(NodeView::normalize_axis(3, 3),
                    Catch::Contains("axis 3 is outside [-3, 2] for rank 3"));
  CHECK_THROWS_WITH(NodeView::normalize_axis(-4, 3), Catch::Contains("axis -4 is outside"));
  CHECK_THROWS_WITH(NodeView::normalize_axis(0, 0), Catch::Contains("axis 0 is outside"));
}
