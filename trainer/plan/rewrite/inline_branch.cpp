#include "trainer/plan/rewrite/inline_branch.h"

#include <algorithm>
#include <span>

#include "graph/contract/op_def.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

bool is_random(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->traits.random ||
           std::any_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [](const Subgraph& subgraph) { return is_random(*subgraph.graph); });
  });
}

// Input 0 chooses between then_branch and else_branch.
const Subgraph* taken_branch(const Node& node, const Graph& graph) {
  if (!node.op->traits.takes_one_subgraph || node.inputs[0] == no_value) return nullptr;
  const Tensor& condition = graph[node.inputs[0]].constant;
  if (!condition.defined() || condition.dtype() != DType::boolean || condition.size() != 1) {
    return nullptr;
  }
  const std::string_view attribute = condition.values<bool>()[0] ? "then_branch" : "else_branch";
  const auto found =
      std::find_if(node.subgraphs.begin(), node.subgraphs.end(),
                   [&](const Subgraph& subgraph) { return subgraph.attribute == attribute; });
  return found == node.subgraphs.end() ? nullptr : &*found;
}

// Which values of the branch its nodes compute.
std::vector<bool> computed_values(const Graph& branch) {
  std::vector<bool> computed(branch.values.size());
  for (const Node& node : branch.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != no_value) computed[static_cast<std::size_t>(id)] = true;
    }
  }
  return computed;
}

// Places the values of a branch among those of the graph around it.
class Inliner {
 public:
  Inliner(const Node& node, const Subgraph& subgraph)
      : branch_(*subgraph.graph), placed_(branch_.values.size(), no_value) {
    for (std::size_t i = 0; i < subgraph.captures.size(); ++i) {
      at(branch_.inputs[i]) = subgraph.captures[i];
    }
    const std::vector<bool> computed = computed_values(branch_);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == no_value) continue;
      const ValueId result = branch_.outputs[k];
      if (computed[static_cast<std::size_t>(result)] && at(result) == no_value) {
        at(result) = node.outputs[k];
      } else {
        passed_.emplace_back(node.outputs[k], result);
      }
    }
  }

  bool passes_output_of(const Graph& graph) const {
    return std::any_of(passed_.begin(), passed_.end(), [&](const auto& passed) {
      return std::find(graph.outputs.begin(), graph.outputs.end(), passed.first) !=
             graph.outputs.end();
    });
  }

  InlinedBranch run(Graph& graph) {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      if (placed_[i] != no_value) continue;
      placed_[i] = graph.add_temporary(branch_.values[i].name, branch_.values[i].type);
      graph[placed_[i]].constant = branch_.values[i].constant;
    }
    InlinedBranch result{branch_.nodes, {}};
    for (Node& node : result.nodes) {
      place(node.inputs);
      place(node.outputs);
      place(node.references);
      for (Subgraph& subgraph : node.subgraphs) place(subgraph.captures);
    }
    for (const auto& [output, value] : passed_) result.same.emplace_back(output, at(value));
    return result;
  }

 private:
  ValueId& at(ValueId id) { return placed_[static_cast<std::size_t>(id)]; }
  void place(std::span<ValueId> ids) {
    for (ValueId& id : ids) {
      if (id != no_value) id = at(id);
    }
  }

  const Graph& branch_;
  std::vector<ValueId> placed_;  // by value of the branch
  std::vector<std::pair<ValueId, ValueId>> passed_;
};

}  // namespace

std::optional<InlinedBranch> inline_taken_branch(const Node& node, Graph& graph) {
  const Subgraph* const subgraph = taken_branch(node, graph);
  if (subgraph == nullptr || subgraph->formal_inputs() != 0 || is_random(*subgraph->graph) ||
      subgraph->graph->outputs.size() < node.outputs.size()) {
    return std::nullopt;
  }
  Inliner inliner(node, *subgraph);
  if (inliner.passes_output_of(graph)) return std::nullopt;
  return inliner.run(graph);
}

}  // namespace ondine::trainer
