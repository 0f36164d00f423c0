// Passes before derivatives are made keep what a Gradient node names.
#include <array>
#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

std::vector<Tensor> first_input(const Node& node, const Graph& graph) {
  return {*graph[node.inputs[0]].constant};
}

}  // namespace

TEST_CASE("before derivatives are made, shapes and single numbers are folded alone") {
  PassContext context;
  const auto folds = [&](std::int64_t size, DType dtype) {
    ToyGraph toy;
    const Val x = toy.builder.constant(Tensor(dtype, {size}));
    toy.output(toy.builder.node("Plus", {x, x}));
    context.evaluate = first_input;
    return toy.run(fold_shapes, context);
  };
  CHECK(folds(1, DType::float32));
  CHECK_FALSE(folds(2, DType::float32));
  CHECK(folds(256, DType::int64));
  CHECK(folds(3, DType::boolean));
  CHECK_FALSE(folds(257, DType::int64));
}

TEST_CASE("what follows from values that a Gradient node names is not folded") {
  PassContext context;
  context.evaluate = first_input;
  for (const bool in_body : {false, true}) {
    ToyGraph toy;
    auto& b = toy.builder;
    const Val number = toy.floats({1});
    const Val sum = b.node("Plus", {number, number});
    toy.output(sum);
    Node gradient;
    gradient.op = &toy_noise;
    gradient.inputs = {toy.x.id()};
    gradient.references = {number.id(), sum.id()};
    gradient.outputs = {toy.graph.add_temporary("derivative")};
    if (in_body) {
      Graph body;
      body.inputs = {body.add_value("number", number.type()), body.add_value("sum", sum.type())};
      gradient.inputs = {body.inputs[0]};
      gradient.references = {body.inputs[0], body.inputs[1]};
      gradient.outputs = {body.add_value("derivative", number.type())};
      body.nodes = {gradient};
      body.outputs = gradient.outputs;
      Node call;
      call.op = &toy_call;
      call.subgraphs = {{"body", std::make_shared<Graph>(body), {number.id(), sum.id()}}};
      call.outputs = {toy.graph.add_temporary("called", number.type())};
      toy.graph.nodes.push_back(call);
    } else {
      toy.graph.nodes.push_back(gradient);
    }
    for (const Pass* pass : {&fold_shapes, &fold_constants}) {
      CHECK_FALSE(run_pass(toy.graph, *pass, context));
      CHECK(toy.graph.nodes.size() == 2);
    }
  }
}

TEST_CASE("bodies that read a value that a Gradient node names stay as they are") {
  PassContext context;
  context.evaluate = first_input;
  ToyGraph toy;
  const Val named = toy.floats({1});
  Graph body;
  const auto add = [&](const char* name) {
    const ValueId id = body.add_value(name, named.type());
    body[id].constant = toy.graph[named.id()].constant;
    return id;
  };
  body.inputs = {add("named"), add("other")};  // equal numbers
  Node sum;
  sum.op = &toy_plus;
  sum.inputs = body.inputs;
  sum.outputs = {body.add_value("sum", named.type())};
  body.nodes = {sum};
  body.outputs = sum.outputs;
  const Val other = toy.floats({1});
  Node call;
  call.op = &toy_call;
  call.subgraphs = {{"body", std::make_shared<Graph>(body), {named.id(), other.id()}}};
  call.outputs = {toy.graph.add_temporary("called", named.type())};
  toy.graph.nodes.push_back(call);
  toy.graph.outputs = call.outputs;
  const std::array passes{&fold_shapes, &merge_common_expressions};
  Graph without = toy.graph;
  Node gradient;
  gradient.op = &toy_noise;
  gradient.inputs = {toy.x.id()};
  gradient.references = {named.id(), call.outputs[0]};
  gradient.outputs = {toy.graph.add_temporary("derivative")};
  toy.graph.nodes.push_back(gradient);
  for (const Pass* pass : passes) {
    CHECK_FALSE(run_pass(toy.graph, *pass, context));
    Graph copy = without;
    CHECK(run_pass(copy, *pass, context));
  }
}

TEST_CASE("equal values of which a Gradient node names one stay two") {
  ToyGraph toy;
  auto& b = toy.builder;
  const Val one = toy.floats({1, 2, 3});
  const Val two = toy.floats({1, 2, 3});
  const Val p = b.node("Plus", {toy.x, one});
  const Val q = b.node("Plus", {toy.x, one});
  const Val r = b.node("Minus", {p, two});
  const Val s = b.node("Minus", {q, two});
  for (const Val value : {r, s}) toy.output(value);
  Node gradient;
  gradient.op = &toy_noise;
  gradient.inputs = {toy.x.id()};
  gradient.references = {q.id(), two.id(), s.id()};
  gradient.outputs = {toy.graph.add_temporary("derivative")};
  toy.graph.nodes.push_back(gradient);
  CHECK_FALSE(toy.run(merge_common_expressions));
}

}  // namespace ondine::test
