// An update of a large variable whose gradient is a product that nothing else reads, or one to
// which GatherGrad adds rows, becomes GemmUpdate: the gradient is then computed and consumed strip
// by strip and never held as a whole. ProjectedUpdate is the same for the gradient of a head by its
// loss. Small ones stay as they are: they fit into a cache. A
// SgdUpdate of the result, which takes the decay of AdamW off it, becomes a part of the update: the
// old and the new variable then share memory.
#include <algorithm>

#include "graph/passes/fuse/update_by_gradient.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t least_elements = std::int64_t{1} << 20;

// Inputs of the standard's optimizers: rate, count, the variable, its gradient, then the states.
constexpr std::size_t variable = 2, gradient_of_optimizer = 3;

class LargeUpdates {
 public:
  LargeUpdates(const Graph& graph, const Catalogue& catalogue) : graph_(graph), fuser_(catalogue) {}

  bool fuse(Node& node, const Uses& uses) const {
    if (node.outputs.empty()) return false;
    if (node.op->name == "FusedElementwise" && node.op->domain == ondine_domain) {
      return fuse_elementwise(node, uses);
    }
    const std::size_t lists = node.op->traits.variable_lists;
    if (lists == 0 || node.inputs.size() != variable + lists) return false;  // one variable
    return is_large_matrix(node.inputs[variable]) &&
           take_gradient(node, gradient_of_optimizer, variable, uses);
  }

 private:
  bool is_large_matrix(ValueId id) const {
    const auto shape = graph_[id].type.shape();
    return is_full_float(graph_, id) && shape && shape->rank() == 2 &&
           shape->size() >= least_elements;
  }

  // One of the tensors is a variable or a state of it: an input of the graph.
  bool fuse_elementwise(Node& node, const Uses& uses) const {
    const auto is_state = [&](ValueId id) {
      return is_large_matrix(id) && uses.producer(id) == nullptr && !graph_[id].constant->defined();
    };
    const auto state = std::ranges::find_if(node.inputs, is_state);
    if (state == node.inputs.end()) return false;
    const auto like = static_cast<std::size_t>(state - node.inputs.begin());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i == like || !same_tensor_type(graph_, node.inputs[i], *state)) continue;
      if (take_gradient(node, i, like, uses)) return true;
    }
    return false;
  }

  bool take_gradient(Node& node, std::size_t gradient, std::size_t like, const Uses& uses) const {
    const ValueId id = node.inputs[gradient];
    if (std::ranges::count(node.inputs, id) != 1) return false;
    const Node* lookup = uses.sole_producer(id, "GatherGrad", ondine_domain);
    if (lookup != nullptr && !adds_to_matrix(*lookup)) return false;
    auto by = fuser_.gradient_of(lookup ? lookup->inputs[3] : id, node.inputs[like], lookup, uses);
    if (!by) return false;
    fuser_.fuse(node, gradient, like, std::move(*by), lookup);
    return true;
  }

  bool adds_to_matrix(const Node& lookup) const {
    const NodeView view(lookup);
    return lookup.inputs.size() == 4 && lookup.inputs[3] != no_value &&
           view.attr_int("axis", 0) == 0 && graph_[lookup.inputs[1]].type.is_tensor();
  }

  const Graph& graph_;
  UpdateFuser fuser_;
};

// Makes SgdUpdates one node with the update before them, in their place: the update's input
// `decay`.
class DecayFuser {
 public:
  explicit DecayFuser(Graph& graph)
      : graph_(&graph),
        uses_(graph),
        position_(graph.values.size(), graph.nodes.size()),
        gone_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (takes_decay(graph.nodes[i])) {
        position_[static_cast<std::size_t>(graph.nodes[i].outputs[0])] = i;
      }
    }
  }

  void run() {
    for (Node& node : graph_->nodes) {
      if (node.op->name == "SgdUpdate" && node.op->domain == ondine_domain) take_update(node);
    }
    erase_nodes(*graph_, gone_);
  }

 private:
  // Whether it is an update by an optimizer of the standard, without a decay.
  static bool takes_decay(const Node& node) {
    const bool by_parts = node.op->name == "GemmUpdate" || node.op->name == "ProjectedUpdate";
    if (node.op->domain != ondine_domain || !by_parts) return false;
    const std::string optimizer = NodeView(node).attr_string("optimizer", "");
    return optimizer != "FusedElementwise" && optimizer != "SgdUpdate" &&
           node.inputs[decay_of_update] == no_value;
  }

  // The variable is an input of the graph, which no other result of the update overwrites.
  void take_update(Node& sgd) {
    const std::size_t at = position_[static_cast<std::size_t>(sgd.inputs[0])];
    if (at == gone_.size() || uses_.readers(sgd.inputs[0]) != 1) return;
    Node& update = graph_->nodes[at];
    const auto like = static_cast<std::size_t>(NodeView(update).attr_int("like", 0));
    if (update.inputs[like] != sgd.inputs[1] || uses_.producer(sgd.inputs[1]) != nullptr ||
        is_read_between(update, sgd, 1)) {
      return;
    }
    update.inputs[decay_of_update] = sgd.inputs[2];
    update.outputs[0] = sgd.outputs[0];
    sgd = update;
    gone_[at] = true;
  }

  Graph* graph_;
  Uses uses_;
  std::vector<std::size_t> position_;  // of the update that gives a value
  std::vector<bool> gone_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const LargeUpdates updates(graph, *context.catalogue);
  const bool fused =
      fuse_nodes(graph, [&](Node& node, const Uses& uses) { return updates.fuse(node, uses); });
  if (!fused) return false;
  DecayFuser(graph).run();
  return true;
}

}  // namespace

const Pass fuse_gemm_update{"fuse_gemm_update", run};

}  // namespace ondine::graph
