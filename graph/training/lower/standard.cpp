#include "graph/training/lower/standard.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "graph/contract/builder.h"
#include "graph/contract/signature.h"
#include "graph/passes/pass.h"

namespace ondine::graph {
namespace {

bool fits(std::size_t count, std::span<const Parameter> parameters) {
  const bool variadic = !parameters.empty() && parameters.back().option == Option::variadic;
  return variadic || count <= parameters.size();
}

template <class When>
Graph rewritten(const Graph& graph, const Catalogue& catalogue, const When& when) {
  Graph copy = graph;
  copy.nodes.clear();
  Builder builder(copy, catalogue);
  builder.set_expand(when);
  for (Node node : graph.nodes) {
    for (Subgraph& subgraph : node.subgraphs) {
      subgraph.graph = std::make_shared<const Graph>(rewritten(*subgraph.graph, catalogue, when));
    }
    builder.append(std::move(node));
  }
  return copy;
}

void require_standard(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const Subgraph& subgraph : node.subgraphs) require_standard(*subgraph.graph);
    if (is_standard(node)) continue;
    fail(ErrorCode::unsupported, describe(node, graph), ": operator ", node.op->name,
         " has no form in standard operators");
  }
}

void mark(std::span<const ValueId> ids, std::vector<bool>& read) {
  for (const ValueId id : ids) {
    if (id != no_value) read[static_cast<std::size_t>(id)] = true;
  }
}

// Whether the number of outputs says what the node computes, as that of Split does.
bool counts_outputs(const Node& node) {
  const Signature* signature = find_signature(node.op->domain, node.op->name, node.version);
  return signature != nullptr && node.subgraphs.empty() && !signature->outputs().empty() &&
         signature->outputs().back().option == Option::variadic;
}

// Whether the operator is recurrent: it has a derivative by a kernel that cannot be expanded, and
// an expansion of its own. A quantized one has the derivative of that in floats.
bool is_recurrence(const Node& node, const Catalogue& catalogue) {
  if (node.op->expand == nullptr || node.op->grad == nullptr) return false;
  constexpr std::string_view quantized = "Quantized";
  std::string_view name = node.op->name;
  if (name.starts_with(quantized)) name.remove_prefix(quantized.size());
  const OpDef* derivative = catalogue.find(ondine_domain, cat(name, "Grad"));
  return derivative != nullptr && derivative->expand == nullptr;
}

}  // namespace

bool is_standard(const Node& node) {
  const std::string_view domain = node.op->domain;
  if (!domain.empty() && domain != "ai.onnx.ml") return false;
  const Signature* signature = find_signature(domain, node.op->name, node.version);
  if (signature == nullptr || signature->deprecated()) return false;
  return fits(node.inputs.size(), signature->inputs()) &&
         fits(node.outputs.size(), signature->outputs()) &&
         std::all_of(node.attributes.begin(), node.attributes.end(), [&](const Attribute& one) {
           return signature->attribute(one.name) != nullptr;
         });
}

void trim_outputs(Graph& graph) {
  std::vector<bool> read(graph.values.size());
  mark(graph.outputs, read);
  for (const Node& node : graph.nodes) mark(node.all_inputs(), read);
  for (Node& node : graph.nodes) {
    auto& outputs = node.outputs;
    const std::size_t least = counts_outputs(node) ? outputs.size() : 1;
    while (outputs.size() > least &&
           (outputs.back() == no_value || !read[static_cast<std::size_t>(outputs.back())])) {
      outputs.pop_back();
    }
    for (Subgraph& subgraph : node.subgraphs) {
      Graph inner = *subgraph.graph;
      trim_outputs(inner);
      subgraph.graph = std::make_shared<const Graph>(std::move(inner));
    }
  }
}

void complete_outputs(Graph& graph) {
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    std::size_t count = node.outputs.size();
    if (node.op->name == "BatchNormalization" && NodeView(node).attr_int("training_mode", 0) != 0) {
      count = 3;
    }
    if (!node.subgraphs.empty()) {
      const bool loop = node.op->name == "Loop";  // its body gives the condition too
      count = node.subgraphs[0].graph->outputs.size() - (loop ? 1 : 0);
    }
    node.outputs.resize(std::max(count, node.outputs.size()), no_value);
    for (std::size_t i = 0; i < count; ++i) {
      if (node.outputs[i] != no_value) continue;
      node.outputs[i] = graph.add_temporary(cat(node.op->name, "_output"));
    }
    for (Subgraph& subgraph : node.subgraphs) {
      Graph inner = *subgraph.graph;
      complete_outputs(inner);
      subgraph.graph = std::make_shared<const Graph>(std::move(inner));
    }
  }
  graph.nodes = std::move(nodes);
}

Graph expand_to_standard(const Graph& graph, const Catalogue& catalogue) {
  Graph result = rewritten(graph, catalogue, [](const Node& node) { return !is_standard(node); });
  // Nodes that only the replaced nodes read are dead now, and may be nonstandard.
  run_pass(result, remove_dead_nodes, {});
  trim_outputs(result);
  require_standard(result);
  return result;
}

Graph unroll_recurrences(const Graph& graph, const Catalogue& catalogue) {
  return rewritten(graph, catalogue, [&](const Node& node) {
    return node.op->bind == nullptr || is_recurrence(node, catalogue);
  });
}

}  // namespace ondine::graph
