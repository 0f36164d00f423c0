// An update of a large variable whose gradient is a product that nothing else reads, or one to
// which GatherGrad adds rows, becomes GemmUpdate: the gradient is then computed and consumed strip
// by strip and never held as a whole. Small ones stay as they are: they fit into a cache.
#include <algorithm>
#include <array>

#include "graph/passes/fuse.h"
#include "graph/passes/fuse/product_update.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t least_elements = std::int64_t{1} << 20;

// The standard's optimizers: rate, count, the variable, its gradient, then the states.
constexpr std::array optimizers{std::string_view("Adagrad"), std::string_view("Adam"),
                                std::string_view("Momentum")};
constexpr std::size_t variable = 2, gradient_of_optimizer = 3;

class UpdateFuser {
 public:
  UpdateFuser(const Graph& graph, const Catalogue& catalogue)
      : graph_(graph), gemm_update_(catalogue.find(ondine_domain, "GemmUpdate")) {}

  bool fuse(Node& node, const Uses& uses) const {
    if (gemm_update_ == nullptr || node.outputs.empty()) return false;
    if (node.op->name == "FusedElementwise" && node.op->domain == ondine_domain) {
      return fuse_elementwise(node, uses);
    }
    const bool is_optimizer = node.op->domain == "ai.onnx.preview.training" &&
                              std::ranges::find(optimizers, node.op->name) != optimizers.end();
    // One variable, each of whose tensors but the gradient has a new value.
    if (!is_optimizer || node.inputs.size() != node.outputs.size() + 3) return false;
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
      return is_large_matrix(id) && uses.producer(id) == nullptr &&
             !Tensor(graph_[id].constant).defined();
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

  // Makes the node a GemmUpdate if its input `gradient` is a product. Input `like` has its type.
  bool take_gradient(Node& node, std::size_t gradient, std::size_t like, const Uses& uses) const {
    const ValueId id = node.inputs[gradient];
    if (std::ranges::count(node.inputs, id) != 1) return false;
    const Node* lookup = uses.sole_producer(id, "GatherGrad", ondine_domain);
    if (lookup != nullptr && !adds_to_matrix(*lookup)) return false;
    const Node* product = uses.sole_producer(lookup ? lookup->inputs[3] : id, "Gemm");
    if (product == nullptr || !is_sole_product(*product)) return false;
    update_by_product(node, *gemm_update_, gradient, like, *product, lookup);
    return true;
  }

  bool adds_to_matrix(const Node& lookup) const {
    const NodeView view(lookup);
    return lookup.inputs.size() == 4 && lookup.inputs[3] != no_value &&
           view.attr_int("axis", 0) == 0 && graph_[lookup.inputs[1]].type.is_tensor();
  }

  const Graph& graph_;
  const OpDef* gemm_update_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const UpdateFuser fuser(graph, *context.catalogue);
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
}

}  // namespace

const Pass fuse_gemm_update{"fuse_gemm_update", run};

}  // namespace ondine::graph
