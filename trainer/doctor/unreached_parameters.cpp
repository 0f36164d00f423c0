#include <algorithm>
#include <map>

#include "autodiff/backward.h"
#include "core/message.h"
#include "graph/contract/op_def.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

bool passes(const Node& node, std::size_t input) {
  const std::uint32_t mask = node.op->no_gradient;
  const bool masked = mask == any_input || (input < 32 && (mask >> input & 1U) != 0);
  return !masked && (node.op->grad != nullptr || node.op->expand != nullptr);
}

// Which values the loss depends on, and from which of them a derivative leads to it.
class Paths {
 public:
  explicit Paths(const Examination& on)
      : graph_(&on.graph), depends_(graph_->values.size()), reached_(graph_->values.size()) {
    for (const ValueId id : on.targets) {
      if (id != no_value) depends_[index(id)] = reached_[index(id)] = true;
    }
    for (auto node = graph_->nodes.rbegin(); node != graph_->nodes.rend(); ++node) visit(*node);
  }

  bool reaches(ValueId id) const { return reached_[index(id)]; }

  // The first node after `id` that leads on to the loss and takes no derivative by what it reads.
  const Node* cut_after(ValueId id) const {
    std::vector<bool> after(graph_->values.size());
    after[index(id)] = true;
    for (const Node& node : graph_->nodes) {
      if (!leads_on(node)) continue;
      const auto inputs = node.all_inputs();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == no_value || !after[index(inputs[i])]) continue;
        if (!passes(node, i) || !has_differentiable_output(node)) return &node;
        for (const ValueId output : node.outputs) {
          if (output != no_value) after[index(output)] = true;
        }
      }
    }
    return nullptr;
  }

  // Whether a node that the loss depends on takes derivatives by the value, so that it is no mere
  // index or size.
  bool is_computed_with(ValueId id) const {
    return std::ranges::any_of(graph_->nodes, [&](const Node& node) {
      if (!leads_on(node) || !has_differentiable_output(node)) return false;
      const auto inputs = node.all_inputs();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == id && passes(node, i)) return true;
      }
      return false;
    });
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  bool leads_on(const Node& node) const {
    return std::ranges::any_of(node.outputs,
                               [&](ValueId id) { return id != no_value && depends_[index(id)]; });
  }

  bool has_differentiable_output(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId id) {
      return id != no_value && autodiff::differentiable((*graph_)[id].type);
    });
  }

  void visit(const Node& node) {
    if (!leads_on(node)) return;
    const bool flows = std::ranges::any_of(node.outputs, [&](ValueId id) {
      return id != no_value && reached_[index(id)] && autodiff::differentiable((*graph_)[id].type);
    });
    const auto inputs = node.all_inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == no_value) continue;
      depends_[index(inputs[i])] = true;
      if (flows && passes(node, i)) reached_[index(inputs[i])] = true;
    }
  }

  const Graph* graph_;
  std::vector<bool> depends_;
  std::vector<bool> reached_;
};

// Weights of which no derivative is taken although they look like parameters.
bool is_candidate(const Examination& on, const Paths& paths, const InitializerDef& one,
                  ValueId id) {
  if (on.trains(one.name)) return true;
  return is_float(one.value.dtype()) && one.value.shape().rank() >= 2 && one.value.size() > 1 &&
         paths.is_computed_with(id);
}

std::string reason_of(const Node* cut, const Graph& graph) {
  if (cut == nullptr) return "the loss does not depend on it";
  return cat("on the way to the loss ", describe(*cut, graph), " passes no derivative on");
}

}  // namespace

void find_unreached_parameters(const Examination& on, Findings& findings) {
  const Paths paths(on);
  std::vector<std::pair<const Node*, std::vector<std::string>>> groups;
  for (const InitializerDef& one : on.def.initializers) {
    const ValueId id = on.graph.find(one.name);
    if (id == no_value || paths.reaches(id) || !is_candidate(on, paths, one, id)) continue;
    const Node* cut = paths.cut_after(id);
    auto group = std::ranges::find(groups, cut, [](const auto& pair) { return pair.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {cut, {}});
    group->second.push_back(one.name);
  }
  for (const auto& [cut, names] : groups) {
    const char* remedy =
        cut == nullptr
            ? "Freeze it (prepare --freeze), or let the loss read an output that depends on it."
            : "Let the loss read a value before this operator (prepare --loss-output), or replace "
              "the operator by a smooth one.";
    findings.push_back(
        {"no-gradient", cat(list_names(names), ": ", reason_of(cut, on.graph)), remedy});
  }
}

}  // namespace ondine::trainer
