#include "tests/fuzz/change_exporter.h"

#include <algorithm>
#include <utility>

#include "tests/support/models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

void set_producer(ModelDef& model, Choices& choices) {
  static const std::vector<std::string> names{"pytorch",     "tf2onnx", "keras2onnx", "skl2onnx",
                                              "onnx-export", "PyTorch", "paddle",     ""};
  static const std::vector<std::string> versions{"2.5.1", "1.13.1", "2.0.0.dev", "", "x"};
  model.producer_name = choices.pick(names);
  model.producer_version = choices.pick(versions);
}

void set_metadata(ModelDef& model, Choices& choices) {
  static const std::vector<std::string> keys{"pkg.torch.export.graph_signature",
                                             "pkg.torch.onnx.name_scopes",
                                             "namespace",
                                             "ondine.loss",
                                             "ondine.prediction",
                                             "ondine.class_names",
                                             "ondine.text_encoding",
                                             "ondine.sample_rate",
                                             "author"};
  static const std::vector<std::string> values{"mse",  "y", "[]", "{\"a\": 1}",
                                               "w: 1", "0", "",   "-1"};
  const std::pair entry{choices.pick(keys), choices.pick(values)};
  Properties* metadata = &model.metadata;
  GraphDef& graph = model.graph;
  if (choices.once_in(2) && !graph.nodes.empty()) {
    metadata = &graph.nodes[choices.below(graph.nodes.size())].metadata;
  } else if (choices.once_in(3) && !graph.initializers.empty()) {
    metadata = &graph.initializers[choices.below(graph.initializers.size())].metadata;
  }
  std::erase_if(*metadata, [&](const auto& one) { return one.first == entry.first; });
  metadata->push_back(entry);
}

// Where a value stands in the main graph and the bindings of algorithms; subgraphs may lose it.
void rename(ModelDef& model, const std::string& from, const std::string& to) {
  const auto change = [&](std::string& name) {
    if (name == from) name = to;
  };
  GraphDef& graph = model.graph;
  for (NodeDef& node : graph.nodes) {
    std::ranges::for_each(node.inputs, change);
    std::ranges::for_each(node.outputs, change);
  }
  for (InitializerDef& one : graph.initializers) change(one.name);
  for (auto* values : {&graph.inputs, &graph.outputs, &graph.value_infos}) {
    for (ValueDef& one : *values) change(one.name);
  }
  for (TrainingInfoDef& info : model.training) {
    for (auto* binding : {&info.initialization_binding, &info.update_binding}) {
      for (auto& [variable, value] : *binding) change(variable);
    }
  }
}

void rename_initializer(ModelDef& model, Choices& choices) {
  static const std::vector<std::string> names{"fc.weight",
                                              "fc.bias",
                                              "layers.0.norm.running_mean",
                                              "onnx::MatMul_12",
                                              "val_3",
                                              "/layers/Constant_output_0",
                                              "model.tau",
                                              "mask",
                                              "grid",
                                              "bn.num_batches_tracked",
                                              "decoder.embed.weight",
                                              "StatefulPartitionedCall/dense/kernel:0",
                                              "scale"};
  auto& initializers = model.graph.initializers;
  if (initializers.empty()) return;
  const std::string from = initializers[choices.below(initializers.size())].name;
  const std::string& to = choices.pick(names);
  const bool is_taken =
      std::ranges::any_of(initializers, [&](auto& one) { return one.name == to; });
  if (!is_taken) rename(model, from, to);
}

// Replaces an initializer by a Constant node, as exporters do.
void make_constant(ModelDef& model, Choices& choices) {
  GraphDef& graph = model.graph;
  if (graph.initializers.empty()) return;
  const auto at = graph.initializers.begin() +
                  static_cast<std::ptrdiff_t>(choices.below(graph.initializers.size()));
  graph.nodes.insert(graph.nodes.begin(),
                     node("Constant", {}, {at->name}, {Attribute("value", at->value)}));
  graph.initializers.erase(at);
}

// Merged tensors reach their readers through Identity.
void add_identities(ModelDef& model, Choices& choices) {
  GraphDef& graph = model.graph;
  if (graph.initializers.empty()) return;
  const std::string from = graph.initializers[choices.below(graph.initializers.size())].name;
  const std::string between = from + "_shared";
  for (NodeDef& node : graph.nodes) {
    for (std::string& input : node.inputs) {
      if (input == between) return;
      if (input == from && choices.once_in(2)) input = between;
    }
  }
  graph.nodes.insert(graph.nodes.begin(), node("Identity", {from}, {between}));
}

}  // namespace

void change_exporter(ModelDef& model, Choices& choices) {
  switch (choices.below(6)) {
    case 0:
    case 1:
      return set_producer(model, choices);
    case 2:
      return set_metadata(model, choices);
    case 3:
      return rename_initializer(model, choices);
    case 4:
      return make_constant(model, choices);
    default:
      return add_identities(model, choices);
  }
}

}  // namespace ondine::test
