#include "graph/training/prepare.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "graph/training/prepare_names.h"
#include "graph/training/prepare_parameters.h"

using namespace ondine;
using namespace ondine::graph;

namespace {

ValueDef value(const std::string& name, std::vector<DimDef> dims, DType dtype = DType::float32) {
  ValueDef result;
  result.name = name;
  result.type.kind = TypeKind::tensor;
  result.type.dtype = dtype;
  result.type.dims = std::move(dims);
  return result;
}

NodeDef node(const std::string& op, std::vector<std::string> inputs,
             std::vector<std::string> outputs, Attributes attributes = {}) {
  NodeDef result;
  result.op = op;
  result.name = "node_" + outputs[0];
  result.inputs = std::move(inputs);
  result.outputs = std::move(outputs);
  result.attributes = std::move(attributes);
  return result;
}

void weight(ModelDef& model, const std::string& name, const Shape& shape) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = Tensor(DType::float32, shape);
}

// x -> Conv -> BatchNormalization -> Relu -> Flatten -> Dropout -> Gemm -> Softmax
ModelDef network(std::int64_t opset = 17) {
  ModelDef model;
  model.ir_version = 4;
  model.opsets = {{"", opset}};
  GraphDef& graph = model.graph;
  graph.name = "network";
  graph.inputs = {
      value("x", {std::string("N"), std::int64_t{1}, std::int64_t{4}, std::int64_t{4}})};
  graph.outputs = {value("p", {std::string("N"), std::int64_t{3}})};
  weight(model, "conv.w", {2, 1, 3, 3});
  for (const char* name : {"bn.scale", "bn.bias", "bn.mean", "bn.var"}) weight(model, name, {2});
  weight(model, "fc.w", {3, 8});
  weight(model, "fc.b", {3});
  weight(model, "unused", {5});
  graph.nodes = {
      node("Conv", {"x", "conv.w"}, {"c"}),
      node("BatchNormalization", {"c", "bn.scale", "bn.bias", "bn.mean", "bn.var"}, {"n"}),
      node("Relu", {"n"}, {"r"}),
      node("Flatten", {"r"}, {"f"}),
      node("Dropout", {"f"}, {"d"}),
      node("Gemm", {"d", "fc.w", "fc.b"}, {"logits"}, {{"transB", std::int64_t{1}}}),
      node("Softmax", {"logits"}, {"p"}),
  };
  return model;
}

const NodeDef* find_op(const GraphDef& graph, const std::string& op) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const NodeDef& one) { return one.op == op; });
  return found == graph.nodes.end() ? nullptr : &*found;
}

std::set<std::string> keys(const graph::Properties& bindings) {
  std::set<std::string> result;
  for (const auto& [key, unused] : bindings) result.insert(key);
  return result;
}

// Every name is made once and before it is read, over main and algorithm graph together.
void require_single_assignment(const ModelDef& model) {
  std::set<std::string> known;
  const auto define = [&](const std::string& name) {
    if (name.empty()) return;
    INFO(name);
    REQUIRE(known.insert(name).second);
  };
  const GraphDef& algorithm = *model.training[0].algorithm;
  for (const GraphDef* graph : {&model.graph, &algorithm}) {
    std::set<std::string> with_default;
    for (const auto& one : graph->initializers) {
      define(one.name);
      with_default.insert(one.name);
    }
    for (const auto& one : graph->inputs) {
      if (!with_default.count(one.name)) define(one.name);
    }
  }
  for (const GraphDef* graph : {&model.graph, &algorithm}) {
    for (const NodeDef& one : graph->nodes) {
      for (const std::string& name : reads_of(one)) {
        INFO(name);
        REQUIRE(known.count(name) == 1);
      }
      for (const std::string& name : one.outputs) define(name);
    }
  }
  std::set<std::string> outputs;
  for (const ValueDef& one : algorithm.outputs) {
    REQUIRE(known.count(one.name) == 1);
    REQUIRE(outputs.insert(one.name).second);
  }
  for (const auto& [key, bound] : model.training[0].update_binding) {
    REQUIRE(find_initializer(model.graph, key) != find_initializer(algorithm, key));
    REQUIRE(outputs.count(bound) == 1);
  }
}

}  // namespace

TEST_CASE("globs match any text with * and one character with ?") {
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("fc?.w*", "fc1.weight"));
  CHECK(matches_glob("*.bias", "a.b.bias"));
  CHECK_FALSE(matches_glob("fc?", "fc"));
  CHECK_FALSE(matches_glob("fc", "fc1"));
  CHECK(matches_glob("a*b*c", "a__b_b__c"));
}

TEST_CASE("a prepared classifier has loss, accuracy and an update for every parameter") {
  ModelDef model = network();
  const PrepareReport report = prepare(model, {});
  CHECK(report.loss == "loss");
  CHECK(report.trained ==
        std::vector<std::string>{"conv.w", "bn.scale", "bn.bias", "fc.w", "fc.b"});
  CHECK(report.frozen.empty());
  CHECK(model.ir_version == 7);
  REQUIRE(model.opsets.size() == 2);
  CHECK(model.opsets[1].domain == "ai.onnx.preview.training");
  require_single_assignment(model);

  const TrainingInfoDef& info = model.training.at(0);
  CHECK(keys(info.update_binding) == std::set<std::string>{"conv.w", "bn.scale", "bn.bias", "fc.w",
                                                           "fc.b", "bn.mean", "bn.var"});
  const GraphDef& algorithm = *info.algorithm;
  CHECK(algorithm.outputs.at(0).name == "loss");
  CHECK(algorithm.outputs.at(1).name == "accuracy");
  REQUIRE(algorithm.inputs.size() == 2);
  CHECK(algorithm.inputs[0].name == "label");
  CHECK(algorithm.inputs[0].type.dtype == DType::int64);
  CHECK(algorithm.inputs[0].type.dims == std::vector<DimDef>{std::string("N")});
  CHECK(algorithm.inputs[1].name == "learning_rate");
}

TEST_CASE("cross entropy reads the logits before a final Softmax") {
  ModelDef model = network();
  prepare(model, {});
  const NodeDef* loss = find_op(*model.training[0].algorithm, "SoftmaxCrossEntropyLoss");
  REQUIRE(loss != nullptr);
  CHECK(loss->inputs == std::vector<std::string>{"train.logits", "label"});
}

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

TEST_CASE("constants stay what they are unless a pattern names them") {
  ModelDef model = network();
  weight(model, "scale", {1});
  weight(model, "shift", {1});
  GraphDef& graph = model.graph;
  graph.nodes.pop_back();
  graph.nodes.push_back(node("Mul", {"logits", "scale"}, {"scaled"}));
  graph.nodes.push_back(node("Add", {"scaled", "shift"}, {"p"}));
  ModelDef named = model;
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const PrepareReport report = prepare(model, {});
  CHECK(has(report.frozen, "scale"));
  CHECK(has(report.trained, "shift"));
  PrepareOptions options;
  options.train = {"scale"};
  CHECK(prepare(named, options).trained == std::vector<std::string>{"scale"});
}

TEST_CASE("the zeros that a recurrent layer starts from are no parameter, other states are") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  weight(model, "rnn.w", {1, 5, 1});
  weight(model, "rnn.r", {1, 5, 5});
  weight(model, "h0", {1, 1, 5});
  graph.initializers.emplace_back().name = "shape";
  graph.initializers.back().value = Tensor::of<std::int64_t>({3}, {1, 4, 5});
  graph.inputs[0].type.dims = {std::int64_t{7}, std::int64_t{4}, std::int64_t{1}};
  graph.nodes = {node("Expand", {"h0", "shape"}, {"start"}),
                 node("RNN", {"x", "rnn.w", "rnn.r", "", "", "start"}, {"p"},
                      {{"hidden_size", std::int64_t{5}}})};
  CHECK(choose_parameters(graph, "p", {}).trained.size() == 2);
  CHECK_FALSE(choose_parameters(graph, "p", {}).trains("h0"));
  graph.initializers[graph.initializers.size() - 2].value.mutable_values<float>()[1] = 1;
  CHECK(choose_parameters(graph, "p", {}).trains("h0"));
  // A decoder that starts from what an encoder gives: the encoder is trained.
  weight(model, "encoder", {1, 1, 5});
  graph.nodes[0] = node("Mul", {"h0", "encoder"}, {"start"});
  CHECK(choose_parameters(graph, "p", {}).trains("encoder"));
}

TEST_CASE("what the exporter calls a buffer, or folded from constants alone, is no parameter") {
  const char* kind = "pkg.torch.export.graph_signature.InputSpec.kind";
  const char* folded = "pkg.onnxscript.optimizer.folded_from";
  const auto trains = [](const char* key, const char* text) {
    ModelDef model = network();
    ValueDef& said = model.graph.value_infos.emplace_back(value("fc.b", {std::int64_t{3}}));
    said.metadata = {{"other", "BUFFER"}, {key, text}};
    return choose_parameters(model.graph, "p", {}).trains("fc.b");
  };
  CHECK(trains(kind, "PARAMETER"));
  CHECK_FALSE(trains(kind, "BUFFER"));
  CHECK_FALSE(trains(kind, "CONSTANT_TENSOR"));
  CHECK(trains(folded, "['layer.bias']"));
  CHECK(trains(folded, "['arange_1', 'layer.bias', 'val_2']"));
  CHECK(trains(folded, "['bias', 'unsqueeze', 'val_2']"));
  CHECK(trains(folded, "['"));
  CHECK_FALSE(trains(folded, "['val_51', 'val_2']"));
  CHECK_FALSE(trains(folded, "['add_2', 'arange_2', 'val_14']"));
}

TEST_CASE("what is folded into zeros is no parameter") {
  ModelDef model = network();
  weight(model, "zeros_like_1", {3});
  model.graph.nodes[5].inputs[2] = "zeros_like_1";
  CHECK(choose_parameters(model.graph, "p", {}).trains("zeros_like_1"));
  ValueDef& said = model.graph.value_infos.emplace_back(value("zeros_like_1", {std::int64_t{3}}));
  said.metadata = {{"pkg.onnxscript.optimizer.folded_from", "['val_0', 'x_0']"}};
  CHECK_FALSE(choose_parameters(model.graph, "p", {}).trains("zeros_like_1"));
}

TEST_CASE("what the exporter calls a parameter is one, of rank 0 too") {
  ModelDef model = network();
  weight(model, "scale", {});
  model.graph.nodes.back().outputs[0] = "softmax";
  model.graph.nodes.push_back(node("Mul", {"softmax", "scale"}, {"p"}));
  CHECK_FALSE(choose_parameters(model.graph, "p", {}).trains("scale"));
  ValueDef& said = model.graph.value_infos.emplace_back(value("scale", {}));
  said.metadata = {{"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
  CHECK(choose_parameters(model.graph, "p", {}).trains("scale"));
}

TEST_CASE("mean and deviation that inputs are normalized with are no parameters") {
  ModelDef model = network();
  weight(model, "mean", {1, 1, 1, 1});
  weight(model, "deviation", {1, 1, 4, 1});
  GraphDef& graph = model.graph;
  graph.nodes[0].inputs[0] = "normal";
  graph.nodes.insert(graph.nodes.begin(), node("Div", {"centred", "deviation"}, {"normal"}));
  graph.nodes.insert(graph.nodes.begin(), node("Sub", {"x", "mean"}, {"centred"}));
  const auto parameters = choose_parameters(graph, "p", {});
  CHECK_FALSE(parameters.trains("mean"));
  CHECK_FALSE(parameters.trains("deviation"));
  CHECK(parameters.trains("conv.w"));
  CHECK(parameters.frozen.size() == 2);
}

TEST_CASE("a name that the prediction's shape repeats is believed once") {
  ModelDef model = network();
  model.graph.outputs[0].type.dims = {std::string("N"), std::int64_t{3}, std::string("N"),
                                      std::string("W")};
  PrepareOptions options;
  options.loss = Loss::mse;
  prepare(model, options);
  const auto& dims = *model.training[0].algorithm->inputs[0].type.dims;
  CHECK(dims ==
        std::vector<DimDef>{std::string("N"), std::int64_t{3}, std::monostate(), std::string("W")});
}

TEST_CASE("parameters that were written once are trained on their own when untied") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  graph.nodes.insert(graph.nodes.begin(), node("Identity", {"bn.bias"}, {"bn.scale2"}));
  graph.nodes[2].inputs[1] = "bn.scale2";
  ModelDef tied = model;
  PrepareOptions options;
  options.untie = true;
  const PrepareReport report = prepare(model, options);
  CHECK(std::count(report.trained.begin(), report.trained.end(), "bn.scale2") == 1);
  CHECK(find_op(model.graph, "Identity") == nullptr);
  CHECK(prepare(tied, {}).trained.size() == report.trained.size() - 1);
  // An Identity that the network itself has, as PyTorch's exporters name it.
  ModelDef own = network();
  own.graph.nodes.insert(own.graph.nodes.begin(), node("Identity", {"bn.bias"}, {"bn.scale2"}));
  own.graph.nodes[2].inputs[1] = "bn.scale2";
  ModelDef traced = own;
  own.graph.nodes[0].metadata = {{"pkg.torch.onnx.name_scopes", "['', 'alias']"}};
  traced.graph.nodes[0].name = "/norm/Identity";
  for (ModelDef* one : {&own, &traced}) {
    prepare(*one, options);
    CHECK(find_op(one->graph, "Identity") != nullptr);
  }
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
  graph.nodes.insert(graph.nodes.begin(), node("Constant", {}, {"bn.bias"}, {{"value", ones}}));
  graph.nodes.insert(graph.nodes.begin(), node("Constant", {}, {"bn.scale"}, {{"value", ones}}));
  ModelDef frozen = model;
  prepare(model, {});
  CHECK(keys(model.training[0].update_binding).contains("bn.mean"));
  PrepareOptions options;
  options.freeze = {"conv.*"};
  prepare(frozen, options);
  CHECK_FALSE(keys(frozen.training[0].update_binding).contains("bn.mean"));
}

TEST_CASE("a BatchNormalization that is used twice goes on from its own statistics") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  graph.nodes.insert(
      graph.nodes.begin() + 2,
      node("BatchNormalization", {"n", "bn.scale", "bn.bias", "bn.mean", "bn.var"}, {"again"}));
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
  graph.nodes.insert(graph.nodes.begin() + 1, node("Neg", {"bn.bias"}, {"mean"}));
  graph.nodes[2].inputs[3] = "mean";
  ModelDef copied = model;
  prepare(model, {});
  CHECK(find_op(*model.training[0].algorithm, "BatchNormalization") == nullptr);
  copied.graph.nodes[1] = node("Identity", {"bn.mean"}, {"mean"});
  ModelDef untied = copied;
  CHECK_THROWS_WITH(prepare(copied, {}), Catch::Contains("'mean'") && Catch::Contains("--untie"));
  PrepareOptions options;
  options.untie = true;
  prepare(untied, options);
  CHECK(keys(untied.training[0].update_binding).contains("mean"));
}

TEST_CASE("last layers are counted from the output") {
  ModelDef model = network();
  PrepareOptions options;
  options.last_layers = 1;
  CHECK(prepare(model, options).trained == std::vector<std::string>{"fc.w", "fc.b"});
  ModelDef again = network();
  options.last_layers = 2;
  CHECK(prepare(again, options).trained ==
        std::vector<std::string>{"bn.scale", "bn.bias", "fc.w", "fc.b"});
}

TEST_CASE("a bias added after a product belongs to its layer") {
  ModelDef model = network();
  model.graph.nodes[5] = node("MatMul", {"d", "fc.wt"}, {"product"});
  model.graph.nodes.insert(model.graph.nodes.begin(), node("Transpose", {"fc.w"}, {"fc.wt"}));
  model.graph.nodes.insert(model.graph.nodes.end() - 1,
                           node("Add", {"product", "fc.b"}, {"logits"}));
  PrepareOptions options;
  options.last_layers = 1;
  CHECK(prepare(model, options).trained == std::vector<std::string>{"fc.w", "fc.b"});
}

TEST_CASE("every optimizer and loss writes a well-formed graph") {
  constexpr float decay = 0.01F;
  const auto optimizer = GENERATE(
      Optimizer(Sgd{.weight_decay = decay}), Optimizer(Momentum{.weight_decay = decay}),
      Optimizer(Nesterov{.weight_decay = decay}), Optimizer(Adagrad{.weight_decay = decay}),
      Optimizer(Adam{.weight_decay = decay}), Optimizer(AdamW{.weight_decay = decay}));
  const auto loss = GENERATE(Loss::softmax_cross_entropy, Loss::bce_with_logits, Loss::mse,
                             Loss::mae, Loss::huber);
  ModelDef model = network();
  PrepareOptions options;
  options.optimizer = optimizer;
  options.loss = loss;
  options.clip_norm = 1.0F;
  prepare(model, options);
  require_single_assignment(model);
  const GraphDef& algorithm = *model.training[0].algorithm;
  CHECK(find_op(algorithm, "Gradient")->inputs.size() == 5);
  CHECK((find_initializer(algorithm, "step") != nullptr) ==
        !std::holds_alternative<Sgd>(optimizer));
}

TEST_CASE("initialization draws weights by their fan and leaves biases") {
  ModelDef model = network();
  prepare(model, {});
  const TrainingInfoDef& info = model.training[0];
  CHECK(keys(info.initialization_binding) == std::set<std::string>{"conv.w", "fc.w"});
  const NodeDef& drawn = info.initialization->nodes.at(1);
  CHECK(drawn.op == "RandomUniform");
  // fc.w is [out, in] = [3, 8]: the bound is sqrt(6 / 8).
  CHECK(std::get<float>(find(drawn.attributes, "high")->data) == Approx(0.8660254));
  ModelDef kept = network();
  PrepareOptions options;
  options.init = WeightInit::keep;
  prepare(kept, options);
  CHECK_FALSE(kept.training[0].initialization.has_value());
}

TEST_CASE("names of the model are never taken again") {
  ModelDef model = network();
  model.graph.nodes[0].outputs[0] = "loss";
  model.graph.nodes[1].inputs[0] = "loss";
  model.graph.nodes[2].outputs[0] = "learning_rate";
  model.graph.nodes[3].inputs[0] = "learning_rate";
  weight(model, "step", {1});
  weight(model, "fc.w.mean", {1});
  PrepareOptions options;
  options.optimizer = Adam{};
  CHECK(prepare(model, options).loss == "loss_1");
  require_single_assignment(model);
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

TEST_CASE("what cannot be prepared is refused and left as it was") {
  ModelDef model = network();
  PrepareOptions options;
  std::string message;
  SECTION("an unknown output") {
    options.output = "q";
    message = "no output 'q'";
  }
  SECTION("a pattern without a match") {
    options.freeze = {"conv1.*"};
    message = "'conv1.*'";
  }
  SECTION("nothing left to train") {
    options.freeze = {"*"};
    message = "nothing to train";
  }
  SECTION("a label that is taken") {
    options.label = "x";
    message = "'x'";
  }
  SECTION("an opset that lacks the loss") {
    model.opsets[0].version = 11;
    message = "ai.onnx 11";
  }
  SECTION("an opset before broadcasting") {
    model.opsets[0].version = 6;
    message = "ai.onnx 6";
  }
  SECTION("a model that is prepared already") {
    model.training.emplace_back();
    message = "already";
  }
  const std::size_t infos = model.training.size();
  const std::size_t imports = model.opsets.size();
  CHECK_THROWS_WITH(prepare(model, options), Catch::Contains(message));
  CHECK(model.training.size() == infos);
  CHECK(model.opsets.size() == imports);
}
