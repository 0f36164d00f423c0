#include "graph/training/prepare/exporter/zero_biases.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/exporter/merged.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/metadata.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/signature.h"
#include "graph/training/prepare/sources.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

bool scales_bias(const NodeDef& gemm) {
  const Attribute* beta = find(gemm.attributes, "beta");
  const float* factor = beta == nullptr ? nullptr : std::get_if<float>(&beta->data);
  return beta != nullptr && (factor == nullptr || *factor != 1);
}

// How many elements the bias of a layer has that has none; nothing for other nodes.
std::optional<std::int64_t> bias_size(const NodeDef& node, const Shape& weight) {
  const bool has_bias = node.inputs.size() > 2 && !node.inputs[2].empty();
  if (!node.domain.empty() || node.inputs.size() < 2 || has_bias) return std::nullopt;
  if (node.op == "Gemm" && weight.rank() == 2 && !scales_bias(node)) {
    return weight[integer_attribute(node, "transB", 0) != 0 ? 0 : 1];
  }
  if (node.op == "Conv" && weight.rank() > 2) return weight[0];
  if (node.op == "ConvTranspose" && weight.rank() > 2) {
    return weight[1] * integer_attribute(node, "group", 1);
  }
  return std::nullopt;
}

}  // namespace

RestoredBiases restore_zero_biases(ModelDef& model) {
  GraphDef& graph = model.graph;
  const std::vector<std::string> missing = missing_parameters(graph);
  if (missing.empty()) return {};
  const std::set<std::string> candidates(missing.begin(), missing.end());
  const Names names(model);
  const Sources sources(graph, GraphSignature(graph));
  std::unordered_map<std::string_view, const Tensor*> weights;
  for (const InitializerDef& one : graph.initializers) weights.emplace(one.name, &one.value);
  std::vector<InitializerDef> added;
  std::set<std::string> known;
  for (NodeDef& node : graph.nodes) {
    const auto weight = node.inputs.size() < 2 ? weights.end() : weights.find(node.inputs[1]);
    if (weight == weights.end()) continue;
    const std::optional<std::int64_t> size = bias_size(node, weight->second->shape());
    const std::string& source = sources.of(node.inputs[1]);
    if (!size || source.empty()) continue;
    std::string name(owner_of(source));
    name += name.empty() ? "bias" : ".bias";
    if (!candidates.contains(name) || names.contains(name)) continue;
    node.inputs.resize(2);
    node.inputs.push_back(name);
    if (!known.insert(name).second) continue;  // the layer runs more than once
    InitializerDef& bias = added.emplace_back();
    bias.name = name;
    bias.value = Tensor(weight->second->dtype(), Shape{*size});
    bias.metadata = kind_metadata("PARAMETER");
  }
  RestoredBiases result;
  std::vector<std::string> texts;
  for (InitializerDef& one : added) {
    texts.push_back(quoted(one.name));
    result.names.push_back(one.name);
    graph.initializers.push_back(std::move(one));
  }
  if (!texts.empty()) {
    result.notes = {"biases of zeros that the exporter left out, and which are back: " +
                    listed(texts)};
  }
  return result;
}

}  // namespace ondine::graph
