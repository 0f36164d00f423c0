// Weights that Constant nodes and subgraphs hold: trained, and exported where they were.
#include <catch2/catch.hpp>

#include <ondine/prepare.h>

#include "graph/training/prepare/parameters/held.h"
#include "proto/import.h"
#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

NodeDef held(const std::string& name, Attribute value) {
  NodeDef result = node("Constant", {}, {name}, {std::move(value)});
  result.name = "hold_" + name;
  return result;
}

std::shared_ptr<const GraphDef> branch(const std::string& name, std::uint64_t seed,
                                       bool as_initializer) {
  auto body = std::make_shared<GraphDef>();
  body->name = name;
  body->outputs = {tensor_value(name + "_y", DType::float32, {std::string("N"), std::int64_t{3}})};
  const Tensor weight = random_floats({3, 3}, seed);
  if (as_initializer) {
    body->initializers = {{"inner.w", weight, "", {}}};
  } else {
    body->nodes = {held("inner.w", {"value", weight})};
  }
  body->nodes.push_back(node("Relu", {"h"}, {name + "_r"}));
  body->nodes.push_back(node("MatMul", {name + "_r", "inner.w"}, {name + "_y"}));
  return body;
}

// y = relu(2 x w + b) v; w is in a Constant, b in a Constant of floats, v in the branches of an If.
ModelDef network() {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  model.graph.name = "held";
  model.graph.inputs = {tensor_value("x", DType::float32, {std::string("N"), std::int64_t{2}}),
                        tensor_value("first", DType::boolean, {})};
  model.graph.outputs = {tensor_value("y", DType::float32, {std::string("N"), std::int64_t{3}})};
  model.graph.nodes = {
      held("two", {"value", Tensor::scalar(2.0F)}),
      node("Mul", {"x", "two"}, {"twice"}),
      held("w", {"value", random_floats({2, 3}, 1)}),
      node("MatMul", {"twice", "w"}, {"product"}),
      held("b", {"value_floats", std::vector<float>{0.5F, -1, 0.25F}}),
      node("Add", {"product", "b"}, {"h"}),
      node("If", {"first"}, {"y"},
           {{"then_branch", branch("one", 2, false)}, {"else_branch", branch("other", 3, true)}}),
  };
  return model;
}

// network() with initializers of the main graph in place of Constant nodes and inner initializers.
ModelDef lifted_by_hand() {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  graph.initializers = {{"two", Tensor::scalar(2.0F), "", {}},
                        {"w", random_floats({2, 3}, 1), "", {}},
                        {"b", Tensor::of<float>({3}, {0.5F, -1, 0.25F}), "", {}},
                        {"v1", random_floats({3, 3}, 2), "", {}},
                        {"v2", random_floats({3, 3}, 3), "", {}}};
  std::erase_if(graph.nodes, [](const NodeDef& one) { return one.op == "Constant"; });
  int count = 0;
  for (Attribute& attribute : graph.nodes.back().attributes) {
    auto& body = std::get<std::shared_ptr<const GraphDef>>(attribute.data);
    auto copy = std::make_shared<GraphDef>(*body);
    copy->initializers.clear();
    std::erase_if(copy->nodes, [](const NodeDef& one) { return one.op == "Constant"; });
    copy->nodes.back().inputs[1] = ++count == 1 ? "v1" : "v2";
    body = std::move(copy);
  }
  return model;
}

NamedValues batch(bool first) {
  return {{"x", random_floats({4, 2}, 5)},
          {"first", Tensor::scalar(first)},
          {"label", random_floats({4, 3}, 6)}};
}

const Tensor& tensor_in(const NodeDef& node) { return *tensor_of(node.attributes.at(0)); }

const GraphDef& body_in(const GraphDef& graph, std::size_t index) {
  return *std::get<std::shared_ptr<const GraphDef>>(graph.nodes.back().attributes.at(index).data);
}

}  // namespace

TEST_CASE("weights in Constant nodes and branches train as initializers do") {
  const PrepareOptions options{.loss = Loss::mse, .optimizer = Adam{.learning_rate = 0.05F}};
  PrepareReport report;
  Model model = prepare(encode(network()), options, {}, &report);
  REQUIRE(report.trained.size() == 4);
  CHECK(report.trained[0] == "w");
  CHECK(report.trained[1] == "b");
  Model reference = prepare(encode(lifted_by_hand()), options);
  for (int i = 0; i < 6; ++i) {
    const NamedValues feeds = batch(i % 3 != 0);
    CHECK(model.train_step(feeds).scalar("loss") == reference.train_step(feeds).scalar("loss"));
  }
  CHECK(model.parameters() == reference.parameters());
}

TEST_CASE("trained weights are exported where they were held") {
  const ModelDef original = network();
  Model model = prepare(encode(original), {.loss = Loss::mse});
  for (int i = 0; i < 4; ++i) model.train_step(batch(i % 2 == 0));
  // Through a file that trains, too.
  const Model again = Model::load(model.export_training());
  CHECK(again.export_inference() == model.export_inference());
  const ModelDef exported = load_model(model.export_inference());
  CHECK(exported.graph.initializers.empty());
  REQUIRE(exported.graph.nodes.size() == original.graph.nodes.size());
  for (std::size_t i = 0; i < original.graph.nodes.size(); ++i) {
    CHECK(exported.graph.nodes[i].op == original.graph.nodes[i].op);
    CHECK(exported.graph.nodes[i].name == original.graph.nodes[i].name);
    CHECK(exported.graph.nodes[i].outputs == original.graph.nodes[i].outputs);
    CHECK(exported.graph.nodes[i].metadata.empty());
  }
  CHECK(tensor_in(exported.graph.nodes[2]).identical(model.get_state("w")));
  CHECK_FALSE(tensor_in(exported.graph.nodes[2]).identical(tensor_in(original.graph.nodes[2])));
  CHECK(tensor_in(exported.graph.nodes[0]).identical(Tensor::scalar(2.0F)));
  const auto b = std::get<std::vector<float>>(exported.graph.nodes[4].attributes.at(0).data);
  const auto b_state = model.get_state("b");
  CHECK(std::equal(b.begin(), b.end(), b_state.values<float>().begin()));
  const GraphDef& one = body_in(exported.graph, 0);
  REQUIRE(one.nodes.size() == 3);
  CHECK(one.nodes[0].op == "Constant");
  CHECK(one.initializers.empty());
  CHECK(body_in(exported.graph, 1).initializers.size() == 1);
  CHECK(body_in(exported.graph, 1).initializers[0].metadata.empty());
  const Model inference = Model::load(model.export_inference());
  for (const bool first : {true, false}) {
    const NamedValues feeds{{"x", random_floats({4, 2}, 8)}, {"first", Tensor::scalar(first)}};
    CHECK(inference.infer(feeds)["y"].tensor().identical(model.infer(feeds)["y"].tensor()));
  }
}

TEST_CASE("running statistics in Constant nodes are updated and exported") {
  ModelDef def = network();
  GraphDef& graph = def.graph;
  graph.nodes.back() = node("BatchNormalization", {"h", "scale", "shift", "mean", "var"}, {"y"});
  std::vector<NodeDef> nodes = {held("scale", {"value", Tensor::of<float>({3}, {1, 2, 0.5F})}),
                                held("shift", {"value", Tensor::of<float>({3}, {0, 0.5F, 2})}),
                                held("mean", {"value", Tensor::of<float>({3}, {0, 0, 0.5F})}),
                                held("var", {"value", Tensor::of<float>({3}, {1, 1, 2})})};
  graph.nodes.insert(graph.nodes.begin(), nodes.begin(), nodes.end());
  graph.inputs.pop_back();
  Model model = prepare(encode(def), {.loss = Loss::mse});
  NamedValues feeds = batch(true);
  feeds.erase(feeds.begin() + 1);
  model.train_step(feeds);
  const ModelDef exported = load_model(model.export_inference());
  CHECK(exported.graph.initializers.empty());
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK_FALSE(tensor_in(exported.graph.nodes[i]).identical(tensor_in(nodes[i])));
  }
}

TEST_CASE("a lifted weight whose place is gone stays an initializer") {
  GraphDef graph;
  graph.initializers = {{"w", Tensor::scalar(1.0F), "", {{"ondine.held_in", "4/then_branch/0"}}}};
  lower_weights(graph);
  REQUIRE(graph.initializers.size() == 1);
  CHECK(graph.initializers[0].name == "w");
}
