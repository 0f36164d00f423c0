// Fuses the element-wise operators that lead to an output of the graph into one FusedElementwise,
// so that an optimizer composed of them reads each variable once. An intermediate value that is
// itself an output, such as the next momentum, becomes a further output of the FusedElementwise.
#include <algorithm>
#include <queue>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

constexpr std::size_t max_operands = 32;  // of a FusedElementwise: inputs and steps

class Fuser {
 public:
  Fuser(Graph& graph, const OpDef* fused_op)
      : graph_(&graph),
        fused_op_(fused_op),
        is_output_(output_flags(graph)),
        producer_(graph.values.size(), -1),
        readers_(graph.values.size()),
        taken_(graph.nodes.size()),
        replaced_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      for (const ValueId id : node.outputs) {
        if (id != no_value) producer_[index(id)] = static_cast<std::int32_t>(i);
      }
      for (const ValueId id : node.all_inputs()) {
        if (id != no_value) readers_[index(id)].push_back(i);
      }
      for (const ValueId id : node.references) readers_[index(id)].push_back(i);
    }
  }

  bool run() {
    bool changed = false;
    for (std::size_t i = graph_->nodes.size(); i-- > 0;) {
      const Node& root = graph_->nodes[i];
      if (taken_[i] || root.outputs.size() != 1 || root.outputs[0] == no_value) continue;
      if (is_output_[index(root.outputs[0])] && is_step(root)) changed = fuse(i) || changed;
    }
    erase_nodes(*graph_, replaced_);
    return changed;
  }

 private:
  // Whether the node computes a float tensor of known shape from tensors of its type and numbers.
  bool is_step(const Node& node) const {
    const bool sgd_update = node.op->name == "SgdUpdate" && node.op->domain == ondine_domain;
    const auto name = node.op->name;
    const bool known = name == "Add" || name == "Sub" || name == "Mul" || name == "Div" ||
                       name == "Neg" || name == "Sqrt";
    if (!sgd_update && !(known && node.op->domain.empty() && node.version >= 7)) return false;
    const ValueId result = node.outputs[0];
    const auto shape = (*graph_)[result].type.shape();
    if (!is_full_float(*graph_, result) || !shape || shape->rank() == 0) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id != no_value && (is_tensor(id, result) || is_number(id, result));
    });
  }
  bool is_tensor(ValueId id, ValueId like) const { return same_tensor_type(*graph_, id, like); }
  bool is_number(ValueId id, ValueId like) const {
    const Type& type = (*graph_)[id].type;
    const auto shape = type.shape();
    return shape && shape->size() == 1 && type.dtype == (*graph_)[like].type.dtype;
  }

  // Whether the node combines several tensors that nodes outside the group compute, such as the sum
  // of two gradients. It stays separate: fused, all of them would be kept until the fused node
  // runs.
  bool joins_others(const Node& node) const {
    std::vector<ValueId> others;
    for (const ValueId id : node.inputs) {
      const std::int32_t from = producer_[index(id)];
      const bool other = from >= 0 && is_tensor(id, node.outputs[0]) &&
                         !is_step(graph_->nodes[static_cast<std::size_t>(from)]);
      if (other && std::find(others.begin(), others.end(), id) == others.end())
        others.push_back(id);
    }
    return others.size() > 1;
  }

  // The root and the nodes read only within the group, in the order of the graph. Empty when they
  // are too many for one FusedElementwise.
  std::vector<std::size_t> group_of(std::size_t root) const {
    std::vector<std::size_t> group;
    const ValueId result = graph_->nodes[root].outputs[0];
    const auto inside = [&](std::size_t i) {
      return std::find(group.begin(), group.end(), i) != group.end();
    };
    // The last node comes first, so that all readers of a value are known before its producer.
    std::priority_queue<std::size_t> candidates;
    const auto add = [&](std::size_t i) {
      group.push_back(i);
      for (const ValueId id : graph_->nodes[i].inputs) {
        const std::int32_t from = id == no_value ? -1 : producer_[index(id)];
        if (from >= 0) candidates.push(static_cast<std::size_t>(from));
      }
    };
    add(root);
    while (!candidates.empty()) {
      const std::size_t i = candidates.top();
      candidates.pop();
      const Node& node = graph_->nodes[i];
      if (taken_[i] || node.outputs.size() != 1 || node.outputs[0] == no_value || inside(i))
        continue;
      const auto& readers = readers_[index(node.outputs[0])];
      if (!std::all_of(readers.begin(), readers.end(), inside)) continue;
      if (!is_tensor(node.outputs[0], result) || !is_step(node) || joins_others(node)) continue;
      if (group.size() == max_operands) return {};
      add(i);
    }
    std::reverse(group.begin(), group.end());
    return group;
  }

  struct Steps {
    std::vector<ValueId> inputs;
    std::vector<ValueId> values;  // of each step; no_value for half of a SgdUpdate
    std::vector<std::string> ops;
    std::vector<std::int64_t> operands;  // inputs, and steps as -1 - step
  };

  std::int64_t operand(Steps& steps, ValueId id) const {
    const auto step = std::find(steps.values.begin(), steps.values.end(), id);
    if (step != steps.values.end()) return -1 - (step - steps.values.begin());
    const auto input = std::find(steps.inputs.begin(), steps.inputs.end(), id);
    if (input == steps.inputs.end()) steps.inputs.push_back(id);
    return std::find(steps.inputs.begin(), steps.inputs.end(), id) - steps.inputs.begin();
  }

  void add_step(Steps& steps, std::string_view op, std::int64_t left, std::int64_t right,
                ValueId value) const {
    steps.ops.emplace_back(op);
    steps.operands.push_back(left);
    steps.operands.push_back(right);
    steps.values.push_back(value);
  }

  void add_node(Steps& steps, const Node& node) const {
    const ValueId result = node.outputs[0];
    const std::int64_t left = operand(steps, node.inputs[0]);
    const std::int64_t right =
        operand(steps, node.inputs.size() > 1 ? node.inputs[1] : node.inputs[0]);
    if (node.op->name != "SgdUpdate") return add_step(steps, node.op->name, left, right, result);
    add_step(steps, "Mul", right, operand(steps, node.inputs[2]), no_value);
    const auto change = static_cast<std::int64_t>(steps.values.size());
    add_step(steps, "Sub", left, -change, result);
  }

  bool fuse(std::size_t root) {
    const std::vector<std::size_t> group = group_of(root);
    if (group.size() < 2) return false;
    Steps steps;
    const ValueId result = graph_->nodes[root].outputs[0];
    // Input 0 is a tensor.
    for (const std::size_t i : group) {
      for (const ValueId id : graph_->nodes[i].inputs) {
        const bool outside = std::none_of(group.begin(), group.end(), [&](std::size_t j) {
          return graph_->nodes[j].outputs[0] == id;
        });
        if (steps.inputs.empty() && outside && is_tensor(id, result)) steps.inputs.push_back(id);
      }
    }
    if (steps.inputs.empty()) return false;
    for (const std::size_t i : group) add_node(steps, graph_->nodes[i]);
    if (steps.inputs.size() + steps.ops.size() > max_operands) return false;
    const auto inputs = static_cast<std::int64_t>(steps.inputs.size());
    for (std::int64_t& o : steps.operands) o = o < 0 ? inputs - 1 - o : o;
    std::vector<std::int64_t> results;
    std::vector<ValueId> outputs;
    for (std::size_t s = steps.values.size(); s-- > 0;) {
      const ValueId id = steps.values[s];
      if (id == no_value || !is_output_[index(id)]) continue;
      results.push_back(static_cast<std::int64_t>(s));
      outputs.push_back(id);
    }
    for (const std::size_t i : group) {
      taken_[i] = true;
      replaced_[i] = i != root;
    }
    Node& fused = graph_->nodes[root];
    fused.op = fused_op_;
    fused.version = 1;
    fused.inputs = std::move(steps.inputs);
    fused.outputs = std::move(outputs);
    fused.attributes = {{"ops", std::move(steps.ops)},
                        {"operands", std::move(steps.operands)},
                        {"results", std::move(results)}};
    return true;
  }

  Graph* graph_;
  const OpDef* fused_op_;
  std::vector<bool> is_output_;
  std::vector<std::int32_t> producer_;             // by value
  std::vector<std::vector<std::size_t>> readers_;  // by value: nodes
  std::vector<bool> taken_;                        // by node: part of a fused node
  std::vector<bool> replaced_;                     // by node: not its root
};

// Only the graph itself has variables.
bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused_op = context.catalogue->find(ondine_domain, "FusedElementwise");
  return fused_op != nullptr && Fuser(graph, fused_op).run();
}

}  // namespace

const Pass fuse_elementwise{"fuse_elementwise", run, Visit::main_graph};

}  // namespace ondine::graph
