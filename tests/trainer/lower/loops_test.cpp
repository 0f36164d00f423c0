// Lowered derivatives of loops.
#include <catch2/catch.hpp>

#include "tests/support/models.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

ValueDef floats(const std::string& name, std::vector<DimDef> dims) {
  return tensor_value(name, DType::float32, std::move(dims));
}

const std::vector<DimDef> dims{std::int64_t{2}, std::int64_t{3}};

// The iteration v := tanh(v w) + u, u := u / 2, which gives v^2 and v u.
GraphDef body() {
  GraphDef graph;
  graph.name = "body";
  graph.inputs = {tensor_value("i", DType::int64, {}), tensor_value("go", DType::boolean, {}),
                  floats("v", dims), floats("u", dims)};
  graph.nodes = {node("Identity", {"go"}, {"go_on"}),
                 node("MatMul", {"v", "w"}, {"p"}),
                 node("Tanh", {"p"}, {"t"}),
                 node("Add", {"t", "u"}, {"next_v"}),
                 node("Mul", {"u", "half"}, {"next_u"}),
                 node("Mul", {"v", "v"}, {"square"}),
                 node("Mul", {"v", "u"}, {"product"})};
  graph.outputs = {tensor_value("go_on", DType::boolean, {}), floats("next_v", dims),
                   floats("next_u", dims), floats("square", dims), floats("product", dims)};
  return graph;
}

// y = v + u + the means of both stacks after `trips` iterations from v = x and u = x s.
ModelDef network(const GraphDef& body, std::int64_t trips) {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  GraphDef& graph = model.graph;
  graph.name = "loops";
  graph.inputs = {floats("x", dims)};
  graph.outputs = {floats("y", dims)};
  graph.initializers = {{"w", random_floats({3, 3}, 1), "", {}},
                        {"s", random_floats({3}, 2), "", {}},
                        {"half", Tensor::scalar(0.5F), "", {}},
                        {"trips", Tensor::scalar(trips), "", {}},
                        {"yes", Tensor::scalar(true), "", {}}};
  const Attribute first{"axes", std::vector<std::int64_t>{0}};
  const Attribute drop{"keepdims", std::int64_t{0}};
  graph.nodes = {node("Mul", {"x", "s"}, {"u0"}),
                 node("Loop", {"trips", "yes", "x", "u0"}, {"v", "u", "squares", "products"},
                      {{"body", std::make_shared<const GraphDef>(body)}}),
                 node("ReduceMean", {"squares"}, {"a"}, {first, drop}),
                 node("ReduceMean", {"products"}, {"b"}, {first, drop}),
                 node("Sum", {"v", "u", "a", "b"}, {"y"})};
  return model;
}

Model trained(const ModelDef& model) {
  PrepareOptions options;
  options.loss = Loss::mse;
  options.optimizer = Sgd{.learning_rate = 0.1F};
  options.init = WeightInit::keep;
  options.train = {"w", "s"};
  return prepare(encode(model), options);
}

}  // namespace

TEST_CASE("lowered derivatives of a loop follow the training") {
  for (const std::int64_t trips : {1, 3}) {
    Model model = trained(network(body(), trips));
    const LowerReport report = check_lowered(model, network_feeds({2, 3}, {2, 3}));
    CHECK(report.next_state.size() == 2);
  }
}

TEST_CASE("a loop that is not lowered for its random numbers is refused by name") {
  GraphDef noisy = body();
  noisy.nodes[6] = node("RandomNormalLike", {"v"}, {"noise"});
  noisy.nodes.push_back(node("Mul", {"noise", "t"}, {"product"}));
  const Model model = trained(network(noisy, 2));
  CHECK_THROWS_WITH(lower(model), Catch::Contains("random numbers"));
}
