#include "graph/training/prepare/prepare.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "core/message.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

TEST_CASE("the training copy starts at the first node that trains differently") {
  ModelDef model = network();
  prepare(model, {});
  const GraphDef& algorithm = *model.training[0].algorithm;
  CHECK(find_op(algorithm, "Conv") == nullptr);
  const NodeDef* norm = find_op(algorithm, "BatchNormalization");
  REQUIRE(norm != nullptr);
  CHECK(norm->inputs[0] == "c");
  REQUIRE(norm->outputs.size() == 3);
  CHECK(std::get<std::int64_t>(find(norm->attributes, "training_mode")->data) == 1);
  const NodeDef* dropout = find_op(algorithm, "Dropout");
  REQUIRE(dropout != nullptr);
  REQUIRE(dropout->inputs.size() == 3);
  CHECK(find_initializer(algorithm, dropout->inputs[2])->value.values<bool>()[0]);
}

TEST_CASE("without training mode the loss reads the main graph") {
  ModelDef model = network();
  PrepareOptions options;
  options.training_mode = false;
  prepare(model, options);
  require_single_assignment(model);
  const GraphDef& algorithm = *model.training[0].algorithm;
  CHECK(find_op(algorithm, "BatchNormalization") == nullptr);
  CHECK(find_op(algorithm, "SoftmaxCrossEntropyLoss")->inputs[0] == "logits");
}

TEST_CASE("a frozen BatchNormalization keeps its statistics") {
  ModelDef model = network();
  PrepareOptions options;
  options.freeze = {"bn.*", "conv.*"};
  const PrepareReport report = prepare(model, options);
  CHECK(report.trained == std::vector<std::string>{"fc.w", "fc.b"});
  CHECK(report.frozen == std::vector<std::string>{"conv.w", "bn.scale", "bn.bias"});
  CHECK(find_op(*model.training[0].algorithm, "BatchNormalization") == nullptr);
  CHECK(find_op(*model.training[0].algorithm, "Dropout") != nullptr);
}

TEST_CASE("a network exported in training mode infers, and trains in its copy") {
  ModelDef model = network();
  NodeDef& norm = model.graph.nodes[1];
  norm.outputs = {"n", "next.mean", "next.var"};
  norm.attributes.push_back({"training_mode", std::int64_t{1}});
  InitializerDef& mode = model.graph.initializers.emplace_back();
  mode.name = "mode";
  mode.value = Tensor::scalar(true);
  model.graph.nodes[4].inputs = {"f", "", "mode"};
  prepare(model, {});
  const NodeDef& main = *find_op(model.graph, "BatchNormalization");
  CHECK(main.outputs == std::vector<std::string>{"n"});
  CHECK(find(main.attributes, "training_mode") == nullptr);
  CHECK(find_op(model.graph, "Dropout")->inputs == std::vector<std::string>{"f", ""});
  const GraphDef& algorithm = *model.training[0].algorithm;
  CHECK(find_op(algorithm, "BatchNormalization")->outputs.size() == 3);
  CHECK(find_op(algorithm, "Dropout")->inputs.size() == 3);
}

TEST_CASE("BatchNormalization without parameters trains where its input does") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  std::erase_if(graph.initializers, [](const InitializerDef& one) {
    return one.name == "bn.scale" || one.name == "bn.bias";
  });
  const Tensor ones = Tensor::of<float>({2}, {1, 1});
  graph.nodes.insert(graph.nodes.begin(),
                     named_node("Constant", {}, {"bn.bias"}, {{"value", ones}}));
  graph.nodes.insert(graph.nodes.begin(),
                     named_node("Constant", {}, {"bn.scale"}, {{"value", ones}}));
  ModelDef frozen = model;
  prepare(model, {});
  CHECK(keys(model.training[0].update_binding).contains("bn.mean"));
  PrepareOptions options;
  options.freeze = {"conv.*"};
  prepare(frozen, options);
  CHECK_FALSE(keys(frozen.training[0].update_binding).contains("bn.mean"));
}

TEST_CASE("a BatchNormalization that is used twice updates its statistics twice") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  graph.nodes.insert(graph.nodes.begin() + 2,
                     named_node("BatchNormalization",
                                {"n", "bn.scale", "bn.bias", "bn.mean", "bn.var"}, {"again"}));
  graph.nodes[3].inputs[0] = "again";
  prepare(model, {});
  require_single_assignment(model);
  const TrainingInfoDef& info = model.training[0];
  std::vector<const NodeDef*> norms;
  for (const NodeDef& one : info.algorithm->nodes) {
    if (one.op == "BatchNormalization") norms.push_back(&one);
  }
  REQUIRE(norms.size() == 2);
  CHECK(norms[0]->inputs[3] == "bn.mean");
  CHECK(norms[1]->inputs[3] == norms[0]->outputs[1]);
  CHECK(norms[1]->inputs[4] == norms[0]->outputs[2]);
  const auto& bindings = info.update_binding;
  CHECK(std::count(bindings.begin(), bindings.end(),
                   std::pair<std::string, std::string>{"bn.var", norms[1]->outputs[2]}) == 1);
  CHECK(keys(bindings).size() == bindings.size());
}

TEST_CASE("BatchNormalization with computed statistics stays as it is") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  graph.nodes.insert(graph.nodes.begin() + 1, named_node("Neg", {"bn.bias"}, {"mean"}));
  graph.nodes[2].inputs[3] = "mean";
  ModelDef copied = model;
  prepare(model, {});
  CHECK(find_op(*model.training[0].algorithm, "BatchNormalization") == nullptr);
  copied.graph.nodes[1] = named_node("Identity", {"bn.mean"}, {"mean"});
  ModelDef written = copied;
  PrepareOptions options;
  options.tie = GENERATE(false, true);
  prepare(copied, options);
  CHECK(keys(copied.training[0].update_binding).contains("mean"));
  // An Identity of the network itself.
  written.graph.nodes[1].name = "/norm/Identity";
  CHECK_THROWS_WITH(prepare(written, options),
                    Catch::Contains("'mean'") && Catch::Contains("without training mode"));
}

TEST_CASE("old versions get the nodes that they have") {
  ModelDef model = network(12);
  prepare(model, {});
  require_single_assignment(model);
  const GraphDef& algorithm = *model.training[0].algorithm;
  CHECK(find_op(algorithm, "BatchNormalization")->outputs.size() == 5);

  ModelDef older = network(9);
  PrepareOptions options;
  options.loss = Loss::mse;
  prepare(older, options);
  require_single_assignment(older);
  CHECK(find_op(*older.training[0].algorithm, "Dropout") == nullptr);
  CHECK(find_op(*older.training[0].algorithm, "RandomUniformLike") != nullptr);
}

TEST_CASE("functions that call each other many times are searched once each") {
  // 2^50 calls when inlined.
  constexpr int levels = 50;
  ModelDef model = network();
  NodeDef& relu = model.graph.nodes[2];
  const std::string last_op = GENERATE("Relu", "Dropout");
  relu.op = "f0";
  relu.domain = "local";
  for (int i = 0; i < levels; ++i) {
    const std::string callee = i + 1 < levels ? cat("f", i + 1) : last_op;
    FunctionDef& function = model.functions.emplace_back();
    function.name = cat("f", i);
    function.domain = "local";
    function.inputs = {"a"};
    function.outputs = {"c"};
    function.nodes = {named_node(callee, {"a"}, {"b"}), named_node(callee, {"b"}, {"c"})};
    if (i + 1 < levels) {
      for (NodeDef& node : function.nodes) node.domain = "local";
    }
    function.opsets = {{"", 17}, {"local", 1}};
  }
  model.opsets.push_back({"local", 1});
  if (last_op == "Relu") {
    prepare(model, {});
    CHECK(find_op(*model.training[0].algorithm, "Dropout") != nullptr);
  } else {
    CHECK_THROWS_WITH(prepare(model, {}), Catch::Contains("training mode of Dropout inside node "
                                                          "'node_r' (f0)"));
  }
}
