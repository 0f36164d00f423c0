// Relu, Clip, HardSwish or Swish of a BatchNormalization, or of its sum with an addend, becomes
// BatchNormalizationActivation(x, ..., addend). BatchNormalizationGrad(ReluGrad or ClipGrad(dy, v),
// x, ...), where v is the normalized x or its Relu, becomes BatchNormalizationActivationGrad(dy, x,
// ...), which does not need v.
#include <algorithm>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

constexpr std::string_view plain = "BatchNormalization";

// The activation whose derivative makes `id`, and that node; unchanged where there is none.
std::string_view smooth_activation(ValueId id, const Uses& uses, const Node** slope) {
  for (const std::string_view name : {"HardSwish", "Swish"}) {
    const Node* found =
        uses.sole_producer(id, name == "Swish" ? "SwishGrad" : "HardSwishGrad", ondine_domain);
    if (found == nullptr) continue;
    *slope = found;
    return name;
  }
  return {};
}

bool run_gradient(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, "BatchNormalizationActivationGrad");
  if (fused == nullptr) return false;
  // The normalization whose result, or its Relu, masks the gradient.
  const auto source = [](const Node& slope, const Uses& uses) -> const Node* {
    const Node* relu =
        slope.op->name == "ReluGrad" ? uses.producer(slope.inputs[1], "Relu") : nullptr;
    if (slope.op->name == "ReluGrad" && relu == nullptr) return nullptr;
    return uses.producer(relu ? relu->inputs[0] : slope.inputs[1], plain);
  };
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    if (node.op->name != "BatchNormalizationGrad" || node.op->domain != ondine_domain) return false;
    const NodeView view(node);
    const Node* slope = uses.sole_producer(node.inputs[0], "ReluGrad", ondine_domain);
    const bool relu = slope != nullptr;
    if (!relu) slope = uses.sole_producer(node.inputs[0], "ClipGrad", ondine_domain);
    const std::string_view smooth = smooth_activation(node.inputs[0], uses, &slope);
    if (slope == nullptr || view.attr_int("spatial", 1) == 0) return false;
    const Node* norm = source(*slope, uses);
    if (norm == nullptr || norm->outputs.size() < 5 || !is_full_float(graph, norm->outputs[0])) {
      return false;
    }
    const bool same =
        norm->inputs[0] == node.inputs[1] && norm->inputs[1] == node.inputs[2] &&
        norm->outputs[3] == node.inputs[3] && norm->outputs[4] == node.inputs[4] &&
        NodeView(*norm).attr_float("epsilon", 1e-5F) == view.attr_float("epsilon", 1e-5F);
    if (!same) return false;
    Attributes attributes{{"epsilon", view.attr_float("epsilon", 1e-5F)},
                          {"constant_statistics", view.attr_int("constant_statistics", 0)}};
    if (relu) {
      attributes.emplace_back("relu", std::int64_t{1});
    } else {
      if (!smooth.empty()) attributes.emplace_back("activation", std::string(smooth));
      attributes.insert(attributes.end(), slope->attributes.begin(), slope->attributes.end());
    }
    node.inputs[0] = slope->inputs[0];
    node.inputs.push_back(norm->inputs[2]);
    node.op = fused;
    node.version = 1;
    node.attributes = std::move(attributes);
    return true;
  });
}

// The normalization whose only reader is this activation, or the sum that this activation reads.
struct Chain {
  const Node* norm = nullptr;
  const Node* sum = nullptr;
  ValueId addend = no_value;
};

Chain find_chain(const Graph& graph, ValueId id, const Uses& uses) {
  if (const Node* norm = uses.sole_producer(id, plain)) return {norm};
  const Node* sum = uses.sole_producer(id, "Add");
  if (sum == nullptr) return {};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node* norm = uses.sole_producer(sum->inputs[i], plain);
    if (norm != nullptr && same_tensor_type(graph, sum->inputs[0], sum->inputs[1])) {
      return {norm, sum, sum->inputs[1 - i]};
    }
  }
  return {};
}

bool is_smooth(const Node& node) {
  return node.op->domain.empty() && (node.op->name == "HardSwish" || node.op->name == "Swish");
}

std::optional<Attributes> activation_attributes(const Node& node, const Graph& graph) {
  Attributes attributes;
  if (is_smooth(node)) {
    attributes = node.attributes;
    attributes.emplace_back("activation", std::string(node.op->name));
    return attributes;
  }
  const auto activation = read_activation(node, graph);
  if (!activation) return std::nullopt;
  if (activation->relu) attributes.emplace_back("relu", std::int64_t{1});
  if (activation->low) attributes.emplace_back("low", *activation->low);
  if (activation->high) attributes.emplace_back("high", *activation->high);
  return attributes;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, "BatchNormalizationActivation");
  std::vector<bool> gone(graph.nodes.size());
  const bool changed = fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    if (fused == nullptr || !is_full_float(graph, node.outputs[0])) return false;
    const auto activation = activation_attributes(node, graph);
    if (!activation) return false;
    const Chain chain = find_chain(graph, node.inputs[0], uses);
    if (chain.norm == nullptr || chain.norm->version < 7) return false;
    if (!normalizes_channels(*chain.norm)) return false;
    if (chain.sum != nullptr && is_smooth(node)) return false;
    // Nobody reads a statistic before the activation.
    if (is_read_between(*chain.norm, node, 1)) return false;
    const NodeView view(*chain.norm);
    Attributes attributes = *activation;
    attributes.emplace_back("epsilon", view.attr_float("epsilon", 1e-5F));
    attributes.emplace_back("momentum", view.attr_float("momentum", 0.9F));
    attributes.emplace_back("training_mode", std::int64_t{trains_normalization(*chain.norm)});
    const ValueId result = node.outputs[0];
    node.inputs = chain.norm->inputs;
    if (chain.addend != no_value) node.inputs.push_back(chain.addend);
    node.outputs = chain.norm->outputs;
    node.outputs[0] = result;
    node.op = fused;
    node.version = 1;
    node.attributes = std::move(attributes);
    for (const Node* one : {chain.norm, chain.sum}) {
      if (one != nullptr) gone[static_cast<std::size_t>(one - graph.nodes.data())] = true;
    }
    return true;
  });
  erase_nodes(graph, gone);
  return changed;
}

}  // namespace

const Pass fuse_normalization_gradient{"fuse_normalization_gradient", run_gradient};
const Pass fuse_normalization{"fuse_normalization", run};

}  // namespace ondine::graph
