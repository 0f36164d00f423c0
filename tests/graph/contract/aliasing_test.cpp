#include <catch2/catch.hpp>

#include "graph/contract/aliasing.h"
#include "graph/contract/op_def.h"

using namespace ondine::graph;  // NOLINT

namespace {

Node node_of(const OpDef& op, std::size_t inputs, std::size_t outputs) {
  Node node;
  node.op = &op;
  for (std::size_t i = 0; i < inputs; ++i) node.inputs.push_back(static_cast<ValueId>(i));
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(100 + i));
  return node;
}

}  // namespace

TEST_CASE("output 0 takes the memory of the inputs that traits name, other outputs of none") {
  const OpDef op{.name = "Op", .traits = {.inplace = 0b101}};
  const Node node = node_of(op, 3, 2);
  CHECK(may_alias(node, 0, 0));
  CHECK_FALSE(may_alias(node, 1, 0));
  CHECK(may_alias(node, 2, 0));
  CHECK_FALSE(may_alias(node, 0, 1));
  CHECK_FALSE(may_alias(node, 2, 1));
}

TEST_CASE("an operator may treat every output alike") {
  const OpDef op{.name = "Op", .traits = {.inplace = 0b10, .inplace_every_output = true}};
  const Node node = node_of(op, 2, 3);
  for (const std::size_t output : {0U, 1U, 2U}) {
    CHECK_FALSE(may_alias(node, 0, output));
    CHECK(may_alias(node, 1, output));
  }
}

TEST_CASE("inputs beyond the mask are never overwritten") {
  const OpDef op{.name = "Op", .traits = {.inplace = any_input}};
  const Node node = node_of(op, 40, 1);
  CHECK(may_alias(node, 31, 0));
  CHECK_FALSE(may_alias(node, 32, 0));
  CHECK_FALSE(may_alias(node, 39, 0));
}

TEST_CASE("an optimizer's outputs take the memory of their own variable alone") {
  // Two variables with three lists: (R, T, x0, x1, g0, g1, v0, v1) -> x0', x1', v0', v1'.
  const OpDef op{.name = "Optimizer", .traits = {.variable_lists = 3}};
  const Node node = node_of(op, 8, 4);
  for (std::size_t output = 0; output < 4; ++output) {
    CHECK_FALSE(may_alias(node, 0, output));
    CHECK_FALSE(may_alias(node, 1, output));
    for (std::size_t input = 2; input < 8; ++input) {
      CAPTURE(input, output);
      CHECK(may_alias(node, input, output) == (input % 2 == output % 2));
    }
  }
  CHECK_FALSE(may_alias(node_of(op, 2, 1), 1, 0));  // without variables
}

TEST_CASE("a view shows its first input, and only in output 0") {
  const OpDef view{.name = "View", .traits = {.view = true}};
  const OpDef plain{.name = "Plain"};
  CHECK(viewed_input(node_of(view, 2, 2)) == 0);
  CHECK(viewed_input(node_of(view, 2, 2), 1) == no_value);
  CHECK(viewed_input(node_of(view, 0, 1)) == no_value);
  CHECK(viewed_input(node_of(plain, 1, 1)) == no_value);
}
