#include "graph/training/prepare/prediction/logits.h"
#include "graph/record/record.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

void integers(ModelDef& model, const std::string& name, const std::vector<std::int64_t>& values) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = Tensor(DType::int64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), added.value.mutable_values<std::int64_t>().begin());
}

void one(ModelDef& model) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = "one";
  added.value = Tensor::scalar(1.0F);
}

// The network with other nodes after its logits.
ModelDef ending(std::vector<NodeDef> nodes) {
  ModelDef model = network();
  model.graph.nodes.pop_back();
  for (NodeDef& node : nodes) model.graph.nodes.push_back(std::move(node));
  return model;
}

const NodeDef& loss_of(const ModelDef& model, const std::string& op) {
  const NodeDef* loss = find_op(*model.training[0].algorithm, op);
  REQUIRE(loss != nullptr);
  return *loss;
}

Attributes axis(std::int64_t value) { return {{"axis", value}}; }

}  // namespace

TEST_CASE("cross entropy reads the logits of a Softmax that is written in any way") {
  ModelDef model;
  const std::vector<NodeDef> stable = {
      named_node("ReduceMax", {"logits"}, {"m"}, {{"axes", std::vector<std::int64_t>{1}}}),
      named_node("Sub", {"logits", "m"}, {"z"}),
      named_node("Exp", {"z"}, {"e"}),
      named_node("ReduceSum", {"e", "axes"}, {"s"}),
  };
  SECTION("Softmax, then Identity") {
    model =
        ending({named_node("Softmax", {"logits"}, {"q"}), named_node("Identity", {"q"}, {"p"})});
  }
  SECTION("LogSoftmax") { model = ending({named_node("LogSoftmax", {"logits"}, {"p"})}); }
  SECTION("Log of Softmax") {
    model = ending({named_node("Softmax", {"logits"}, {"q"}), named_node("Log", {"q"}, {"p"})});
  }
  SECTION("Exp over its sum") {
    model =
        ending({named_node("Exp", {"logits"}, {"e"}), named_node("ReduceSum", {"e", "axes"}, {"s"}),
                named_node("Div", {"e", "s"}, {"p"})});
  }
  SECTION("without the maximum") {
    auto nodes = stable;
    nodes.push_back(named_node("Div", {"e", "s"}, {"p"}));
    model = ending(nodes);
  }
  SECTION("times the inverse of a sum that is spread") {
    auto nodes = stable;
    nodes.push_back(named_node("Expand", {"s", "axes"}, {"spread"}));
    nodes.push_back(named_node("Reciprocal", {"spread"}, {"inverse"}));
    nodes.push_back(named_node("Mul", {"e", "inverse"}, {"p"}));
    model = ending(nodes);
  }
  SECTION("less the logarithm of the sum") {
    model = ending({named_node("ReduceLogSumExp", {"logits"}, {"s"},
                               {{"axes", std::vector<std::int64_t>{-1}}}),
                    named_node("Sub", {"logits", "s"}, {"p"})});
  }
  integers(model, "axes", {1});
  const PrepareReport report = prepare(model, {});
  CHECK(report.prediction == "logits");
  CHECK_THAT(report.prediction_reason, Catch::Contains("output 'p'"));
  CHECK(loss_of(model, "SoftmaxCrossEntropyLoss").inputs[0] == "train.logits");
}

TEST_CASE("the shape of the probabilities is given to the logits") {
  ModelDef model = ending({named_node("Softmax", {"logits"}, {"q"}),
                           named_node("Unsqueeze", {"q", "axes"}, {"u"}),
                           named_node("Squeeze", {"u", "axes"}, {"p"})});
  integers(model, "axes", {2});
  prepare(model, {});
  require_single_assignment(model);
  const GraphDef& step = *model.training[0].algorithm;
  CHECK(find_op(step, "Unsqueeze")->inputs == std::vector<std::string>{"train.logits", "axes"});
  CHECK(loss_of(model, "SoftmaxCrossEntropyLoss").inputs[0] ==
        find_op(step, "Squeeze")->outputs[0]);
}

TEST_CASE("classes that are the last axis become axis 1") {
  ModelDef model = ending({named_node("Unsqueeze", {"logits", "axes"}, {"tokens"}),
                           named_node("Softmax", {"tokens"}, {"p"}, axis(-1))});
  integers(model, "axes", {1});
  model.graph.outputs[0].type.dims = {std::string("N"), std::int64_t{1}, std::int64_t{3}};
  prepare(model, {});
  const GraphDef& step = *model.training[0].algorithm;
  const NodeDef* transpose = find_op(step, "Transpose");
  REQUIRE(transpose != nullptr);
  CHECK(std::get<std::vector<std::int64_t>>(transpose->attributes[0].data) ==
        std::vector<std::int64_t>{0, 2, 1});
  CHECK(step.inputs[0].type.dims == std::vector<DimDef>{std::string("N"), std::int64_t{1}});
  // Two of three axes with as many elements as there are classes: it cannot be told.
  ModelDef turned = ending(
      {named_node("Softmax", {"logits"}, {"q"}), named_node("Reshape", {"q", "axes"}, {"p"})});
  integers(turned, "axes", {3, 3, -1});
  turned.graph.outputs[0].type.dims = {std::int64_t{3}, std::int64_t{3}, std::string("N")};
  CHECK_THROWS_WITH(prepare(turned, {}), Catch::Contains("which axis"));
}

TEST_CASE("the classes of a linear layer's scores of many positions are the last axis") {
  ModelDef model = network();
  model.graph.nodes.resize(2);
  weight(model, "head.w", {4, 5});
  weight(model, "head.b", {5});
  NodeDef last = named_node("MatMul", {"n", "head.w"}, {"p"});
  std::size_t axis = 3;
  SECTION("alone") { model.graph.nodes.push_back(last); }
  SECTION("with bias, whose weight is transposed") {
    weight(model, "tied.w", {5, 4});
    model.graph.nodes.push_back(named_node("Transpose", {"tied.w"}, {"turned"}));
    model.graph.nodes.push_back(named_node("MatMul", {"n", "turned"}, {"m"}));
    model.graph.nodes.push_back(named_node("Add", {"head.b", "m"}, {"p"}));
  }
  SECTION("bounded by Tanh") {
    model.graph.nodes.push_back(named_node("MatMul", {"n", "head.w"}, {"m"}));
    model.graph.nodes.push_back(named_node("Tanh", {"m"}, {"p"}));
  }
  SECTION("of packed weights") {
    weight(model, "head.scales", {5});
    NodeDef packed = named_node("MatMulNBits", {"n", "head.w", "head.scales"}, {"p"});
    packed.domain = "com.microsoft";
    model.graph.nodes.push_back(packed);
  }
  SECTION("other products do not tell") {
    axis = 1;
    SECTION("of two values") {
      model.graph.nodes.push_back(named_node("MatMul", {"n", "n"}, {"p"}));
    }
    SECTION("moved") {
      model.graph.nodes.push_back(named_node("MatMul", {"n", "head.w"}, {"m"}));
      model.graph.nodes.push_back(
          named_node("Transpose", {"m"}, {"p"}, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}}));
    }
    SECTION("after an activation") {
      model.graph.nodes.push_back(named_node("MatMul", {"n", "head.w"}, {"m"}));
      model.graph.nodes.push_back(named_node("Relu", {"m"}, {"p"}));
    }
  }
  model.graph.outputs[0].type.dims = {std::string("N"), std::int64_t{2}, std::int64_t{4},
                                      std::int64_t{5}};
  const PrepareReport report = prepare(model, {});
  CHECK(read_record(model.metadata).prediction.class_axis == axis);
  CHECK((report.prediction_reason.find("last axis") != std::string::npos) == (axis == 3));
}

TEST_CASE("binary cross entropy reads the logits of a Sigmoid that is written in any way") {
  ModelDef model;
  SECTION("through Cast, Reshape and Flatten") {
    model = ending(
        {named_node("Sigmoid", {"logits"}, {"q"}), named_node("Reshape", {"q", "axes"}, {"shaped"}),
         named_node("Flatten", {"shaped"}, {"flat"}),
         named_node("Cast", {"flat"}, {"p"}, {{"to", static_cast<std::int64_t>(DType::float64)}})});
    model.graph.outputs[0].type.dtype = DType::float64;
  }
  SECTION("1 / (1 + Exp(-x))") {
    model =
        ending({named_node("Neg", {"logits"}, {"minus"}), named_node("Exp", {"minus"}, {"e"}),
                named_node("Add", {"e", "one"}, {"a"}), named_node("Div", {"one", "a"}, {"p"})});
  }
  SECTION("the inverse of 1 + Exp(-x)") {
    model =
        ending({named_node("Neg", {"logits"}, {"minus"}), named_node("Exp", {"minus"}, {"e"}),
                named_node("Add", {"one", "e"}, {"a"}), named_node("Reciprocal", {"a"}, {"p"})});
  }
  integers(model, "axes", {-1, 3});
  one(model);
  PrepareOptions options;
  options.loss = Loss::bce_with_logits;
  CHECK(prepare(model, options).prediction == "logits");
  require_single_assignment(model);
}

TEST_CASE("both branches of an If give their logits") {
  const auto branch = [](const std::string& prefix, bool probabilities) {
    auto body = std::make_shared<GraphDef>();
    body->name = prefix;
    body->outputs = {value(prefix + "p", {std::string("N"), std::int64_t{3}})};
    body->nodes = {named_node("Identity", {"logits"}, {prefix + "l"}),
                   named_node(probabilities ? "Softmax" : "Relu", {prefix + "l"}, {prefix + "p"})};
    return std::shared_ptr<const GraphDef>(body);
  };
  const auto model_of = [&](bool second) {
    ModelDef model = ending(
        {named_node("If", {"condition"}, {"p"},
                    {{"then_branch", branch("a", true)}, {"else_branch", branch("b", second)}})});
    InitializerDef& added = model.graph.initializers.emplace_back();
    added.name = "condition";
    added.value = Tensor::scalar(true);
    model.graph.nodes.erase(model.graph.nodes.begin() + 4);  // the Dropout
    model.graph.nodes[4].inputs[0] = "f";
    return model;
  };
  ModelDef model = model_of(true);
  const PrepareReport report = prepare(model, {});
  const NodeDef* node = find_op(model.graph, "If");
  REQUIRE(node->outputs.size() == 2);
  CHECK(report.prediction == node->outputs[1]);
  const auto& then_branch =
      *std::get<std::shared_ptr<const GraphDef>>(find(node->attributes, "then_branch")->data);
  REQUIRE(then_branch.outputs.size() == 2);
  CHECK(then_branch.outputs[1].name == "al");
  ModelDef mixed = model_of(false);
  CHECK_THROWS_WITH(prepare(mixed, {}), Catch::Contains("nll"));
  CHECK(find_op(mixed.graph, "If")->outputs.size() == 1);
}

TEST_CASE("probabilities without logits are refused, and losses on them are offered") {
  PrepareOptions options;
  const std::vector<NodeDef> sigmoid = {named_node("Sigmoid", {"logits"}, {"p"})};
  const std::vector<NodeDef> softmax = {named_node("Softmax", {"logits"}, {"p"})};
  ModelDef multi = ending(sigmoid);
  CHECK_THROWS_WITH(prepare(multi, {}), Catch::Contains("Sigmoid 'node_p'") &&
                                            Catch::Contains("(nll)") &&
                                            Catch::Contains("'p' holds probabilities"));
  CHECK(multi.training.empty());
  options.loss = Loss::bce_with_logits;
  ModelDef classes = ending(softmax);
  CHECK_THROWS_WITH(prepare(classes, options), Catch::Contains("bce-probabilities"));
  // The mean of two, 1 - p beside p, bounded ones.
  one(multi);
  for (const std::vector<NodeDef>& nodes :
       {std::vector<NodeDef>{named_node("Softmax", {"logits"}, {"a"}),
                             named_node("Softmax", {"d"}, {"b"}),
                             named_node("Mean", {"a", "b"}, {"p"})},
        {named_node("Sigmoid", {"logits"}, {"a"}), named_node("Sub", {"one", "a"}, {"b"}),
         named_node("Concat", {"b", "a"}, {"p"}, axis(1))},
        {named_node("Softmax", {"logits"}, {"a"}), named_node("Clip", {"a"}, {"p"})},
        {named_node("Sigmoid", {"logits"}, {"a"}),
         named_node("Concat", {"logits", "a"}, {"p"}, axis(1))},
        {named_node("ReduceSum", {"logits"}, {"s"}), named_node("Div", {"logits", "s"}, {"p"})}}) {
    ModelDef model = ending(nodes);
    one(model);
    CHECK_THROWS_WITH(prepare(model, {}), Catch::Contains("nll"));
    options.loss = Loss::nll;
    CHECK(prepare(model, options).prediction == "p");
  }
  // A gate is none: x Sigmoid(x).
  ModelDef gate =
      ending({named_node("Sigmoid", {"logits"}, {"g"}), named_node("Mul", {"logits", "g"}, {"p"})});
  CHECK_THAT(prepare(gate, {}).prediction_reason, Catch::Contains("taken for logits"));
}

TEST_CASE("losses on probabilities read them where they are, and no logits") {
  PrepareOptions options;
  options.loss = Loss::nll;
  ModelDef model = network();
  const PrepareReport report = prepare(model, options);
  CHECK(report.prediction == "p");
  CHECK(report.prediction_reason ==
        "output 'p', which holds probabilities made by Softmax 'node_p'");
  CHECK(find_op(*model.training[0].algorithm, "Log") != nullptr);
  require_single_assignment(model);
  ModelDef logarithms = ending({named_node("LogSoftmax", {"logits"}, {"p"})});
  CHECK_THAT(prepare(logarithms, options).prediction_reason, Catch::Contains("logarithms"));
  CHECK(find_op(*logarithms.training[0].algorithm, "Log") == nullptr);
  ModelDef logits = ending({named_node("Identity", {"logits"}, {"p"})});
  logits.graph.outputs[0].name = "logits";
  CHECK_THROWS_WITH(prepare(logits, options), Catch::Contains("softmax-cross-entropy"));
}

TEST_CASE("the loss reads an inner value or the first floating point output") {
  ModelDef model = network();
  model.graph.outputs.insert(model.graph.outputs.begin(), value("best", {}, DType::int64));
  model.graph.nodes.push_back(named_node("ArgMax", {"p"}, {"best"}, axis(1)));
  ModelDef inner = model;
  ModelDef unknown = model;
  PrepareReport report = prepare(model, {});
  CHECK(report.prediction == "logits");
  CHECK_THAT(report.prediction_reason, Catch::Contains("the first floating point output 'p'"));
  PrepareOptions options;
  options.output = "logits";
  const ValueTypes types{{"logits", value("logits", {std::string("N"), std::int64_t{3}}).type}};
  report = prepare(inner, options, types);
  CHECK(report.prediction == "logits");
  CHECK(report.prediction_reason == "value 'logits', taken for logits");
  CHECK_THROWS_WITH(prepare(unknown, options), Catch::Contains("type of value 'logits'"));
  options.output = "nothing";
  CHECK_THROWS_WITH(prepare(unknown, options), Catch::Contains("no output 'nothing'"));
}

TEST_CASE("the probabilities that a ZipMap reads stand for its output") {
  ModelDef model = network();
  NodeDef zip = named_node("ZipMap", {"p"}, {"maps"});
  zip.domain = "ai.onnx.ml";
  model.graph.nodes.push_back(zip);
  ValueDef maps;
  maps.name = "maps";
  maps.type.kind = TypeKind::sequence;
  model.graph.value_infos.push_back(model.graph.outputs[0]);
  model.graph.outputs = {maps};
  const PrepareReport report = prepare(model, {});
  CHECK(report.prediction == "logits");
  CHECK_THAT(report.prediction_reason, Catch::Contains("ZipMap"));
}
