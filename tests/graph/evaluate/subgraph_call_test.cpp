// Nodes and their subgraphs, run one by one.
#include "graph/evaluate/subgraph_call.h"

#include <catch2/catch.hpp>

#include "graph/contract/infer.h"
#include "graph/evaluate/evaluate_node.h"
#include "graph/evaluate/graph_runner.h"

using namespace ondine;
using namespace ondine::graph;

namespace {

const Type vector_type = Type::tensor(DType::float32, Shape{2});

// Gives what its body gives.
const OpDef call_op{
    .name = "Call",
    .infer =
        [](InferContext& context) { context.set_output(0, context.infer_subgraph(0, {}).at(0)); },
    .bind = [](BindContext& context) -> Kernel {
      SubgraphRunner* const body = context.subgraph(0);
      return [body](KernelContext& call) { call.set_value(0, body->run(call, {}, 0).at(0)); };
    }};

// The first input plus one, and the sum of both.
const OpDef two_op{.name = "Two",
                   .infer =
                       [](InferContext& context) {
                         context.set_output(0, context.input(0));
                         context.set_output(1, context.input(0));
                       },
                   .bind = [](BindContext& context) -> Kernel {
                     const bool has_second = context.has_input(1);
                     return [has_second](KernelContext& call) {
                       for (std::size_t i = 0; i < 2; ++i) {
                         const float x = call.in<float>(0)[i];
                         if (call.out<float>(0) != nullptr) call.out<float>(0)[i] = x + 1;
                         if (call.out<float>(1) != nullptr) {
                           call.out<float>(1)[i] = x + (has_second ? call.in<float>(1)[i] : 0);
                         }
                       }
                     };
                   }};

std::vector<float> floats_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("what a body hands on from the caller's memory is a copy that stays") {
  auto body = std::make_shared<Graph>();
  body->inputs = {body->add_value("inside", vector_type)};
  body->outputs = body->inputs;
  Graph graph;
  graph.inputs = {graph.add_value("x", vector_type)};
  Node node;
  node.op = &call_op;
  node.outputs = {graph.add_value("y", vector_type)};
  node.subgraphs = {{"body", body, graph.inputs}};
  graph.nodes = {node};
  graph.outputs = node.outputs;
  std::vector<float> memory{1, 2};
  const std::vector<Value> inputs{Tensor::wrap(DType::float32, {2}, memory.data())};
  const auto outputs = evaluate(graph, inputs);
  CHECK(outputs[0].tensor().owns_memory());
  memory = {3, 4};
  CHECK(floats_of(outputs[0].tensor()) == std::vector<float>{1, 2});
}

TEST_CASE("a node of constants is evaluated with the outputs and inputs that it has") {
  Graph graph;
  const auto constant = [&](std::vector<float> values) {
    const ValueId id = graph.add_temporary("c", vector_type);
    graph[id].constant = Tensor::of<float>({2}, values);
    return id;
  };
  const ValueId x = constant({1, 2});
  const ValueId y = constant({10, 20});
  const auto results = [&](std::vector<ValueId> inputs, bool first, bool second) {
    Node node;
    node.op = &two_op;
    node.inputs = std::move(inputs);
    for (const bool has : {first, second}) {
      node.outputs.push_back(has ? graph.add_temporary("r", vector_type) : no_value);
    }
    return evaluate_node(node, graph, {});
  };
  const auto both = results({x, y}, true, true);
  REQUIRE(both.size() == 2);
  CHECK(floats_of(both[0]) == std::vector<float>{2, 3});
  CHECK(floats_of(both[1]) == std::vector<float>{11, 22});
  const auto second = results({x, no_value}, false, true);
  REQUIRE(second.size() == 2);
  CHECK_FALSE(second[0].defined());
  CHECK(floats_of(second[1]) == std::vector<float>{1, 2});
  const auto first = results({y, x}, true, false);
  CHECK(floats_of(first[0]) == std::vector<float>{11, 21});
  CHECK_FALSE(first[1].defined());
}
