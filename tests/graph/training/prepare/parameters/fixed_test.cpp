// Constants in files of PyTorch that no value tells from parameters.
#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "graph/training/prepare/exporter/lost.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

const std::string fixed_reason = "of a normalization with fixed statistics";

void constant(ModelDef& model, const std::string& name, Tensor value) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = std::move(value);
}

void rename(ModelDef& model, const std::string& from, const std::string& to) {
  for (InitializerDef& one : model.graph.initializers) {
    if (one.name == from) one.name = to;
  }
  for (NodeDef& node : model.graph.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  }
}

// "" where it is trained.
std::string why_frozen(const ModelDef& model, const std::string& name) {
  const ParameterChoice choice = choose_parameters(model.graph, {"p"}, {}, model.producer_name);
  const auto row = std::find_if(choice.table.begin(), choice.table.end(),
                                [&](const auto& one) { return one.name == name; });
  REQUIRE(row != choice.table.end());
  CHECK(choice.trains(name) == row->trained);
  return row->trained ? std::string() : row->reason;
}

// A convolution, whose result is `made`, and no other node.
ModelDef convolution(std::vector<std::string> inputs) {
  ModelDef model = network();
  model.producer_name = "pytorch";
  model.graph.nodes = {named_node("Conv", std::move(inputs), {"made"})};
  return model;
}

// With a factor and a term of each channel as the exporter names what it computed.
ModelDef with_folded_normalization(std::vector<std::string> inputs) {
  ModelDef model = convolution(std::move(inputs));
  constant(model, "onnx::Mul_4", Tensor::of<float>({1, 2, 1, 1}, {0.5F, 1.5F}));
  constant(model, "onnx::Add_5", Tensor::of<float>({1, 2, 1, 1}, {0.25F, -2}));
  model.graph.nodes.push_back(named_node("Mul", {"made", "onnx::Mul_4"}, {"scaled"}));
  model.graph.nodes.push_back(named_node("Add", {"onnx::Add_5", "scaled"}, {"p"}));
  return model;
}

// As torchvision's FrozenBatchNorm2d computes; `weighted` is what the weight multiplies.
ModelDef with_named_normalization(const std::string& weighted) {
  ModelDef model = convolution({"x", "conv.w"});
  rename(model, "bn.scale", "bn.weight");
  rename(model, "bn.mean", "bn.running_mean");
  rename(model, "bn.var", "bn.running_var");
  weight(model, "head.weight", {1, 2, 1, 1});
  std::vector<NodeDef>& nodes = model.graph.nodes;
  nodes.push_back(named_node("Constant", {}, {"dims"}, {{"value", Tensor(DType::int64, {4})}}));
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    nodes.push_back(named_node("Reshape", {std::string("bn.") + name, "dims"}, {name}));
  }
  nodes.push_back(named_node("Sqrt", {"running_var"}, {"root"}));
  nodes.push_back(named_node("Reciprocal", {"root"}, {"inverse"}));
  nodes.push_back(named_node("Mul", {"weight", weighted}, {"factor"}));
  nodes.push_back(named_node("Mul", {"running_mean", "inverse"}, {"offset"}));
  nodes.push_back(named_node("Sub", {"bias", "offset"}, {"term"}));
  nodes.push_back(named_node("Mul", {"made", "factor"}, {"scaled"}));
  nodes.push_back(named_node("Add", {"scaled", "term"}, {"normal"}));
  nodes.push_back(named_node("Mul", {"normal", "head.weight"}, {"p"}));
  return model;
}

}  // namespace

TEST_CASE("factor and term of a normalization with fixed statistics are not trained") {
  const ModelDef model = with_folded_normalization({"x", "conv.w"});
  CHECK(why_frozen(model, "onnx::Mul_4") == fixed_reason);
  CHECK(why_frozen(model, "onnx::Add_5") == fixed_reason);
  CHECK(why_frozen(model, "conv.w").empty());
}

TEST_CASE("factors of channels that no fixed normalization has are trained") {
  const ModelDef model = with_folded_normalization({"x", "conv.w"});
  ModelDef named = model;
  rename(named, "onnx::Mul_4", "norm.scale");
  CHECK(why_frozen(named, "norm.scale").empty());
  CHECK(why_frozen(named, "onnx::Add_5").empty());
  ModelDef other_axis = model;
  other_axis.graph.initializers.back().value = Tensor::of<float>({1, 1, 1, 2}, {0.25F, -2});
  CHECK(why_frozen(other_axis, "onnx::Mul_4").empty());
  CHECK(why_frozen(other_axis, "onnx::Add_5").empty());
  ModelDef without_term = model;
  without_term.graph.nodes.pop_back();
  without_term.graph.nodes.back().outputs = {"p"};
  CHECK(why_frozen(without_term, "onnx::Mul_4").empty());
  const ModelDef with_bias = with_folded_normalization({"x", "conv.w", "bn.bias"});
  CHECK(why_frozen(with_bias, "onnx::Mul_4").empty());
  ModelDef of_others = model;
  of_others.producer_name = "other";
  CHECK(why_frozen(of_others, "onnx::Add_5").empty());
}

TEST_CASE("parameters computed with statistics of their module alone are not trained") {
  const ModelDef model = with_named_normalization("inverse");
  for (const char* name : {"bn.weight", "bn.running_mean", "bn.running_var"}) {
    CHECK(why_frozen(model, name) == fixed_reason);
  }
  CHECK(why_frozen(model, "bn.bias") == fixed_reason);
  CHECK(why_frozen(model, "conv.w").empty());
  CHECK(why_frozen(model, "head.weight").empty());
  ModelDef of_another_module = model;
  rename(of_another_module, "bn.weight", "head.scale");
  CHECK(why_frozen(of_another_module, "head.scale").empty());
  // A weight that multiplies data is a parameter, whatever the module divides by.
  CHECK(why_frozen(with_named_normalization("made"), "bn.weight").empty());
}

TEST_CASE("what was folded from statistics and parameters of one module is not trained") {
  ModelDef model = convolution({"x", "conv.w"});
  constant(model, "mul_9", Tensor::of<float>({1, 2, 1, 1}, {0.5F, 1.5F}));
  model.graph.nodes.push_back(named_node("Mul", {"made", "mul_9"}, {"p"}));
  const auto folded = [&](const std::string& names) {
    model.graph.initializers.back().metadata = {{"pkg.onnxscript.optimizer.folded_from", names}};
    return why_frozen(model, "mul_9");
  };
  CHECK(folded("['add', 'body.bn1.running_var', 'body.bn1.weight', 'rsqrt', 'val_10']") ==
        "no parameter in the exporter's metadata");
  CHECK(folded("['body.bn1.bias', 'body.bn1.running_mean', 'mul_1']") ==
        "no parameter in the exporter's metadata");
  CHECK(folded("['add', 'body.bn1.weight', 'val_10']").empty());
  CHECK(folded("['body.bn1.running_var', 'body.bn1.weight', 'body.conv1.weight']").empty());
}

TEST_CASE("what was folded from buffers of the exported program alone is not trained") {
  ModelDef model = convolution({"x", "conv.w"});
  constant(model, "val_9", Tensor::of<float>({1, 2, 1, 1}, {0.5F, 1.5F}));
  model.graph.nodes.push_back(named_node("Mul", {"made", "val_9"}, {"p"}));
  model.graph.metadata = {{"pkg.torch.export.ExportedProgram.graph_signature",
                           "\n# inputs\n"
                           "p_up_weight: PARAMETER target='up.weight'\n"
                           "b_up_kernel: BUFFER target='up.kernel' persistent=True\n"
                           "c_up_pad: CONSTANT_TENSOR target='up.pad'\n"
                           "x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n"}};
  const auto folded = [&](const std::string& names) {
    model.graph.initializers.back().metadata = {{"pkg.onnxscript.optimizer.folded_from", names}};
    return why_frozen(model, "val_9");
  };
  CHECK(folded("['expand_1', 'up.kernel', 'val_1']") == "no parameter in the exporter's metadata");
  CHECK(folded("['up.pad']") == "no parameter in the exporter's metadata");
  CHECK(folded("['up.kernel', 'up.weight']").empty());
  CHECK(folded("['up.weight', 'val_1']").empty());
  CHECK(folded("['up.other', 'val_1']").empty());
}

TEST_CASE("the buffer that language models of transformers add to their logits is not trained") {
  ModelDef model = convolution({"x", "conv.w"});
  constant(model, "network.final_logits_bias", Tensor::of<float>({2, 1, 1}, {0, 0.5F}));
  model.graph.nodes.push_back(named_node("Add", {"made", "network.final_logits_bias"}, {"p"}));
  CHECK(why_frozen(model, "network.final_logits_bias") == "named as buffers are");
  rename(model, "network.final_logits_bias", "network.logits_bias");
  CHECK(why_frozen(model, "network.logits_bias").empty());
}

TEST_CASE("a number that was folded from a parameter alone is trained in its place") {
  ModelDef model = convolution({"x", "conv.w"});
  constant(model, "exp", Tensor::scalar(2.5F));
  model.graph.nodes.push_back(named_node("Mul", {"made", "exp"}, {"p"}));
  REQUIRE(model.graph.initializers[0].name == "conv.w");
  model.graph.initializers[0].metadata = {
      {"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
  const auto folded = [&](const std::string& names) {
    model.graph.initializers.back().metadata = {{"pkg.onnxscript.optimizer.folded_from", names}};
    return why_frozen(model, "exp");
  };
  CHECK(folded("['network.logit_scale']").empty());
  const std::vector<std::string> notes = lost_parameters(model);
  REQUIRE_FALSE(notes.empty());
  CHECK(notes[0] ==
        "values that were computed from parameters when the model was exported, and train in their "
        "place: 'exp' (from 'network.logit_scale')");
  CHECK(folded("['network.embed_scale']") == "factor of one element");
  CHECK(folded("['network.logit_scale', 'val_3']") == "factor of one element");
}

TEST_CASE("a Constant node of PyTorch under a number holds no parameter where these have names") {
  ModelDef model = network();
  model.producer_name = "pytorch";
  rename(model, "bn.bias", "bn.offset");
  const auto hold = [&](const std::string& name, Tensor values) {
    std::vector<NodeDef>& nodes = model.graph.nodes;
    nodes.insert(nodes.begin(), named_node("Constant", {}, {name}, {{"value", std::move(values)}}));
  };
  model.graph.nodes.back() = named_node("Add", {"logits", "41"}, {"p"});
  hold("41", Tensor::of<float>({1, 3}, {0.3F, -1.2F, 0.7F}));
  const auto trains = [&](const std::string& name) {
    ModelDef copy = model;
    const std::vector<std::string> trained = prepare(copy, {}).trained;
    return std::find(trained.begin(), trained.end(), name) != trained.end();
  };
  CHECK(trains("41"));
  // Where a module was frozen before its export, Constant nodes hold the parameters.
  const auto held = std::find_if(model.graph.initializers.begin(), model.graph.initializers.end(),
                                 [](const auto& one) { return one.name == "fc.w"; });
  REQUIRE(held != model.graph.initializers.end());
  const ModelDef without_names = model;
  hold("fc.weight", held->value);
  model.graph.initializers.erase(held);
  rename(model, "fc.w", "fc.weight");
  CHECK(trains("fc.weight"));
  CHECK(trains("41"));
  model = without_names;
  rename(model, "fc.w", "fc.weight");
  CHECK(trains("fc.weight"));
  CHECK_FALSE(trains("41"));
  model.producer_name = "other";
  CHECK(trains("41"));
}

TEST_CASE("Constant nodes of PyTorch hold no parameters where these have names of their own") {
  const std::string table = "/layers.0/attn/Constant_12_output_0";
  ModelDef model = convolution({"x", "conv.w"});
  constant(model, table, Tensor::of<float>({2, 2, 1, 1}, {0.3F, -1.2F, 0.7F, 2.1F}));
  model.graph.nodes.push_back(named_node("Add", {"made", table}, {"p"}));
  rename(model, "bn.bias", "bn.offset");
  // Nothing tells how this file names parameters: they may be in Constant nodes.
  CHECK(why_frozen(model, table).empty());
  rename(model, "conv.w", "conv.weight");
  CHECK(why_frozen(model, table) ==
        "in a Constant node, where PyTorch's exporter puts no parameters");
  PrepareOptions options;
  options.train = {table};
  CHECK(choose_parameters(model.graph, {"p"}, options, "pytorch").trains(table));
  for (const char* other : {"/layers.0/attn/Mul_12_output_0", "layers.0.Constant_output_0",
                            "/layers.0/attn/Constant_12"}) {
    ModelDef computed = model;
    rename(computed, table, other);
    CHECK(why_frozen(computed, other).empty());
  }
  model.producer_name = "other";
  CHECK(why_frozen(model, table).empty());
}
