// Adam of a large variable whose gradient is a product that nothing else reads, or one to which
// GatherGrad adds rows, becomes GemmAdam: the gradient is then computed and consumed strip by strip
// and never held as a whole. ProjectedAdam is the same for the gradient of a head by its loss.
// Small ones stay as they are: they fit into a cache. A SgdUpdate of the result, which takes the
// decay of AdamW off it, becomes a part of either: the old and the new variable then share memory.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t least_elements = std::int64_t{1} << 20;

bool is_large_matrix(const Graph& graph, ValueId id) {
  const auto shape = graph[id].type.shape();
  return shape && shape->rank() == 2 && shape->size() >= least_elements;
}

class AdamFuser {
 public:
  AdamFuser(const Graph& graph, const Catalogue& catalogue)
      : graph_(graph),
        gemm_adam_(catalogue.find(ondine_domain, "GemmAdam")),
        projected_adam_(catalogue.find(ondine_domain, "ProjectedAdam")) {}

  bool fuse(Node& adam, const Uses& uses) const {
    constexpr std::size_t one_variable = 6;  // inputs: rate, count, x, gradient and two means
    if (adam.op->name != "Adam") return false;
    if (adam.inputs.size() != one_variable || adam.outputs.size() != 3) return false;
    const ValueId x = adam.inputs[2];
    if (!is_large_matrix(graph_, x) || !is_full_float(graph_, x)) return false;
    const Node* lookup = uses.sole_producer(adam.inputs[3], "GatherGrad", ondine_domain);
    if (lookup != nullptr && !adds_to_matrix(*lookup)) return false;
    const ValueId gradient = lookup != nullptr ? lookup->inputs[3] : adam.inputs[3];
    const Node* product = uses.sole_producer(gradient, "Gemm");
    if (product != nullptr) return take_product(adam, *product, lookup);
    const Node* head = uses.sole_producer(gradient, "ProjectedWeightGrad", ondine_domain);
    return head != nullptr && take_head(adam, *head, lookup);
  }

 private:
  bool take_product(Node& adam, const Node& product, const Node* lookup) const {
    const NodeView view(product);
    if (gemm_adam_ == nullptr || view.has_input(2) || view.attr_float("alpha", 1) != 1) {
      return false;
    }
    take(adam, *gemm_adam_, {product.inputs[0], product.inputs[1]}, lookup);
    adam.attributes.emplace_back("transA", view.attr_int("transA", 0));
    adam.attributes.emplace_back("transB", view.attr_int("transB", 0));
    return true;
  }

  bool take_head(Node& adam, const Node& head, const Node* lookup) const {
    const bool has_class_rows = NodeView(head).attr_int("transposed", 0) != 0;
    if (projected_adam_ == nullptr || head.inputs[2] != adam.inputs[2]) return false;
    if (lookup != nullptr && !has_class_rows) return false;
    take(adam, *projected_adam_, {head.inputs[0], head.inputs[1], head.inputs[3], head.inputs[4]},
         lookup);
    adam.attributes.insert(adam.attributes.end(), head.attributes.begin(), head.attributes.end());
    return true;
  }

  // The values that the gradient follows from take its place behind the means.
  static void take(Node& adam, const OpDef& op, const std::vector<ValueId>& values,
                   const Node* lookup) {
    adam.inputs.erase(adam.inputs.begin() + 3);
    adam.inputs.insert(adam.inputs.end(), values.begin(), values.end());
    if (lookup != nullptr) {
      adam.inputs.insert(adam.inputs.end(), {lookup->inputs[0], lookup->inputs[1]});
    }
    adam.op = &op;
    adam.version = 1;
  }

  bool adds_to_matrix(const Node& lookup) const {
    const NodeView view(lookup);
    return lookup.inputs.size() == 4 && lookup.inputs[3] != no_value &&
           view.attr_int("axis", 0) == 0 && graph_[lookup.inputs[1]].type.is_tensor();
  }

  const Graph& graph_;
  const OpDef* gemm_adam_;
  const OpDef* projected_adam_;
};

// Makes SgdUpdates one node with the update before them, in their place.
class DecayFuser {
 public:
  explicit DecayFuser(Graph& graph)
      : graph_(&graph),
        uses_(graph),
        position_(graph.values.size(), graph.nodes.size()),
        gone_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (decay_input(graph.nodes[i]) == 0) continue;
      position_[static_cast<std::size_t>(graph.nodes[i].outputs[0])] = i;
    }
  }

  void run() {
    for (Node& node : graph_->nodes) {
      if (node.op->name == "SgdUpdate" && node.op->domain == ondine_domain) take_update(node);
    }
    erase_nodes(*graph_, gone_);
  }

 private:
  // The place of the input `decay`; 0 for other operators.
  static std::size_t decay_input(const Node& node) {
    if (node.op->domain != ondine_domain) return 0;
    return node.op->name == "GemmAdam" ? 9 : node.op->name == "ProjectedAdam" ? 11 : 0;
  }

  void take_update(Node& update) {
    const std::size_t at = position_[static_cast<std::size_t>(update.inputs[0])];
    if (at == gone_.size() || uses_.readers(update.inputs[0]) != 1) return;
    Node& adam = graph_->nodes[at];
    if (adam.inputs[2] != update.inputs[1] || is_read_between(adam, update, 1)) return;
    adam.inputs.resize(decay_input(adam), no_value);
    adam.inputs.push_back(update.inputs[2]);
    adam.outputs[0] = update.outputs[0];
    update = adam;
    gone_[at] = true;
  }

  Graph* graph_;
  Uses uses_;
  std::vector<std::size_t> position_;  // of the update that gives a value
  std::vector<bool> gone_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const AdamFuser fuser(graph, *context.catalogue);
  const bool fused =
      fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
  if (!fused) return false;
  DecayFuser(graph).run();
  return true;
}

}  // namespace

const Pass fuse_gemm_adam{"fuse_gemm_adam", run};

}  // namespace ondine::graph
