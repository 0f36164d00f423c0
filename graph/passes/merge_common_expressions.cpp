// Common subexpression elimination: keeps the first of the nodes that compute the same from the
// same inputs. Small constants of equal content are merged first and then count as the same input.
#include <algorithm>
#include <unordered_map>

#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"
#include "graph/passes/same_attributes.h"

namespace ondine::graph {
namespace {

constexpr std::size_t small_bytes = 4096;

bool pure(const Node& node) {
  return !node.op->traits.random && node.subgraphs.empty() && node.references.empty();
}

std::vector<ValueId> ordered_inputs(const Node& node) {
  auto inputs = node.inputs;
  if (node.op->traits.commutative) std::sort(inputs.begin(), inputs.end());
  return inputs;
}

std::size_t hash_of(const Node& node) {
  std::size_t hash = std::hash<const void*>()(node.op) + graph::hash_of(node.attributes);
  for (const ValueId input : ordered_inputs(node)) {
    hash = hash * 31 + static_cast<std::size_t>(input + 1);
  }
  return hash;
}

// Whether `first` has every output of `second` that is used.
bool covers(const Node& first, const Node& second) {
  if (first.op != second.op || first.version != second.version) return false;
  if (first.outputs.size() < second.outputs.size()) return false;
  for (std::size_t i = 0; i < second.outputs.size(); ++i) {
    if (second.outputs[i] != no_value && first.outputs[i] == no_value) return false;
  }
  return ordered_inputs(first) == ordered_inputs(second) &&
         same_attributes(first.attributes, second.attributes);
}

class Merger {
 public:
  explicit Merger(Graph& graph)
      : graph_(graph),
        outputs_(output_flags(graph)),
        named_(named_flags(graph)),
        substitution_(graph) {}

  bool run() {
    merge_constants();
    keep_nodes(graph_, [&](Node& node, std::size_t position) {
      changed_ = substitution_.apply(node) || changed_;
      if (!pure(node) || is_named(node)) return true;
      const std::size_t hash = hash_of(node);
      if (replaced_by_previous(node, hash)) return false;
      seen_.emplace(hash, position);
      return true;
    });
    return changed_;
  }

 private:
  // Whether a Gradient node names an output: each such value has a derivative of its own.
  bool is_named(const Node& node) const {
    return !all_outputs(node, [&](ValueId id) { return !named_[static_cast<std::size_t>(id)]; });
  }

  void merge_constants() {
    const auto produced = produced_flags(graph_);
    std::unordered_multimap<std::size_t, ValueId> known;
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Tensor& constant = graph_.values[i].constant;
      if (!constant.defined() || produced[i] || named_[i]) continue;
      if (constant.bytes() > small_bytes) continue;
      const auto id = static_cast<ValueId>(i);
      const std::size_t hash = graph::hash_of(constant);
      const auto [first, last] = known.equal_range(hash);
      const auto same = std::find_if(first, last, [&](const auto& entry) {
        return graph_[entry.second].constant->identical(constant);
      });
      if (same == last) {
        known.emplace(hash, id);
      } else {
        substitution_.replace(id, same->second);
      }
    }
  }

  // Redirects the node's readers to an equal previous node. False when there is none, or when an
  // output of the graph has to keep its name.
  bool replaced_by_previous(const Node& node, std::size_t hash) {
    const auto [first, last] = seen_.equal_range(hash);
    const auto match = std::find_if(
        first, last, [&](const auto& entry) { return covers(graph_.nodes[entry.second], node); });
    if (match == last) return false;
    const Node& previous = graph_.nodes[match->second];
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == no_value) continue;
      GraphValue& target = graph_[previous.outputs[i]];
      if (compatible(target.type, graph_[id].type))
        target.type = merge(target.type, graph_[id].type);
      substitution_.replace(id, previous.outputs[i]);
    }
    const bool gone =
        all_outputs(node, [&](ValueId id) { return !outputs_[static_cast<std::size_t>(id)]; });
    changed_ = changed_ || gone;
    return gone;
  }

  Graph& graph_;
  std::vector<bool> outputs_;
  std::vector<bool> named_;
  Substitution substitution_;
  std::unordered_multimap<std::size_t, std::size_t> seen_;  // hash -> position
  bool changed_ = false;
};

bool run(Graph& graph, const PassContext&) { return Merger(graph).run(); }

}  // namespace

const Pass merge_common_expressions{"merge_common_expressions", run, Visit::innermost_first, true};

}  // namespace ondine::graph
