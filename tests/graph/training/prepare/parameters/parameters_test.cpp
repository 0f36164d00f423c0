#include "graph/training/prepare/prepare.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "graph/training/prepare/parameters/parameters.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

TEST_CASE("globs match any text with * and one character with ?") {
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("fc?.w*", "fc1.weight"));
  CHECK(matches_glob("*.bias", "a.b.bias"));
  CHECK_FALSE(matches_glob("fc?", "fc"));
  CHECK_FALSE(matches_glob("fc", "fc1"));
  CHECK(matches_glob("a*b*c", "a__b_b__c"));
}

TEST_CASE("constants are not trained unless a pattern names them") {
  ModelDef model = network();
  weight(model, "scale", {1});
  weight(model, "shift", {1});
  GraphDef& graph = model.graph;
  graph.nodes.pop_back();
  graph.nodes.push_back(named_node("Mul", {"logits", "scale"}, {"scaled"}));
  graph.nodes.push_back(named_node("Add", {"scaled", "shift"}, {"p"}));
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
  graph.nodes = {named_node("Expand", {"h0", "shape"}, {"start"}),
                 named_node("RNN", {"x", "rnn.w", "rnn.r", "", "", "start"}, {"p"},
                            {{"hidden_size", std::int64_t{5}}})};
  CHECK(choose_parameters(graph, {"p"}, {}).trained.size() == 2);
  CHECK_FALSE(choose_parameters(graph, {"p"}, {}).trains("h0"));
  graph.initializers[graph.initializers.size() - 2].value.mutable_values<float>()[1] = 1;
  CHECK(choose_parameters(graph, {"p"}, {}).trains("h0"));
  // A decoder that starts from what an encoder gives: the encoder is trained.
  weight(model, "encoder", {1, 1, 5});
  graph.nodes[0] = named_node("Mul", {"h0", "encoder"}, {"start"});
  CHECK(choose_parameters(graph, {"p"}, {}).trains("encoder"));
}

TEST_CASE("buffers named by the exporter and folded constants are not parameters") {
  const char* kind = "pkg.torch.export.graph_signature.InputSpec.kind";
  const char* folded = "pkg.onnxscript.optimizer.folded_from";
  const auto trains = [](const char* key, const char* text) {
    ModelDef model = network();
    ValueDef& said = model.graph.value_infos.emplace_back(value("fc.b", {std::int64_t{3}}));
    said.metadata = {{"other", "BUFFER"}, {key, text}};
    return choose_parameters(model.graph, {"p"}, {}).trains("fc.b");
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

TEST_CASE("a constant folded into zeros is not a parameter") {
  ModelDef model = network();
  weight(model, "zeros_like_1", {3});
  model.graph.nodes[5].inputs[2] = "zeros_like_1";
  CHECK(choose_parameters(model.graph, {"p"}, {}).trains("zeros_like_1"));
  ValueDef& said = model.graph.value_infos.emplace_back(value("zeros_like_1", {std::int64_t{3}}));
  said.metadata = {{"pkg.onnxscript.optimizer.folded_from", "['val_0', 'x_0']"}};
  CHECK_FALSE(choose_parameters(model.graph, {"p"}, {}).trains("zeros_like_1"));
}

TEST_CASE("constants that the exporter names as parameters are parameters, including scalars") {
  ModelDef model = network();
  weight(model, "scale", {});
  model.graph.nodes.back().outputs[0] = "softmax";
  model.graph.nodes.push_back(named_node("Mul", {"softmax", "scale"}, {"p"}));
  CHECK_FALSE(choose_parameters(model.graph, {"p"}, {}).trains("scale"));
  ValueDef& said = model.graph.value_infos.emplace_back(value("scale", {}));
  said.metadata = {{"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
  CHECK(choose_parameters(model.graph, {"p"}, {}).trains("scale"));
}

TEST_CASE("mean and deviation that inputs are normalized with are no parameters") {
  ModelDef model = network();
  weight(model, "mean", {1, 1, 1, 1});
  weight(model, "deviation", {1, 1, 4, 1});
  GraphDef& graph = model.graph;
  graph.nodes[0].inputs[0] = "normal";
  graph.nodes.insert(graph.nodes.begin(), named_node("Div", {"centred", "deviation"}, {"normal"}));
  graph.nodes.insert(graph.nodes.begin(), named_node("Sub", {"x", "mean"}, {"centred"}));
  const auto parameters = choose_parameters(graph, {"p"}, {});
  CHECK_FALSE(parameters.trains("mean"));
  CHECK_FALSE(parameters.trains("deviation"));
  CHECK(parameters.trains("conv.w"));
  CHECK(parameters.frozen.size() == 2);
}

TEST_CASE("parameters that were written once are trained on their own when untied") {
  ModelDef model = network();
  GraphDef& graph = model.graph;
  graph.nodes.insert(graph.nodes.begin(), named_node("Identity", {"bn.bias"}, {"bn.scale2"}));
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
  own.graph.nodes.insert(own.graph.nodes.begin(),
                         named_node("Identity", {"bn.bias"}, {"bn.scale2"}));
  own.graph.nodes[2].inputs[1] = "bn.scale2";
  ModelDef traced = own;
  own.graph.nodes[0].metadata = {{"pkg.torch.onnx.name_scopes", "['', 'alias']"}};
  traced.graph.nodes[0].name = "/norm/Identity";
  for (ModelDef* one : {&own, &traced}) {
    prepare(*one, options);
    CHECK(find_op(one->graph, "Identity") != nullptr);
  }
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
  model.graph.nodes[5] = named_node("MatMul", {"d", "fc.wt"}, {"product"});
  model.graph.nodes.insert(model.graph.nodes.begin(), named_node("Transpose", {"fc.w"}, {"fc.wt"}));
  model.graph.nodes.insert(model.graph.nodes.end() - 1,
                           named_node("Add", {"product", "fc.b"}, {"logits"}));
  PrepareOptions options;
  options.last_layers = 1;
  CHECK(prepare(model, options).trained == std::vector<std::string>{"fc.w", "fc.b"});
}
