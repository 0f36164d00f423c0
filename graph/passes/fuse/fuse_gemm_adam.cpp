// Adam of a large variable whose gradient is a product that nothing else reads, or one to which
// GatherGrad adds rows, becomes GemmAdam: the gradient is then computed and consumed strip by strip
// and never held as a whole. Small ones stay as they are: they fit into a cache.
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
      : graph_(graph), gemm_adam_(catalogue.find(ondine_domain, "GemmAdam")) {}

  bool fuse(Node& adam, const Uses& uses) const {
    constexpr std::size_t one_variable = 6;  // inputs: rate, count, x, gradient and two means
    if (gemm_adam_ == nullptr || adam.op->name != "Adam") return false;
    if (adam.inputs.size() != one_variable || adam.outputs.size() != 3) return false;
    const std::vector<ValueId> from = adam.inputs;
    if (!is_large_matrix(graph_, from[2]) || !is_full_float(graph_, from[2])) return false;
    const Node* lookup = uses.sole_producer(from[3], "GatherGrad", ondine_domain);
    const bool adds_rows = lookup != nullptr;
    if (adds_rows && !adds_to_matrix(*lookup)) return false;
    const Node* product = uses.sole_producer(adds_rows ? lookup->inputs[3] : from[3], "Gemm");
    if (product == nullptr) return false;
    const NodeView view(*product);
    if (view.has_input(2) || view.attr_float("alpha", 1) != 1) return false;
    adam.inputs = {from[0],           from[1], from[2], from[4], from[5], product->inputs[0],
                   product->inputs[1]};
    if (adds_rows) {
      adam.inputs.insert(adam.inputs.end(), {lookup->inputs[0], lookup->inputs[1]});
    }
    adam.op = gemm_adam_;
    adam.version = 1;
    adam.attributes.emplace_back("transA", view.attr_int("transA", 0));
    adam.attributes.emplace_back("transB", view.attr_int("transB", 0));
    return true;
  }

 private:
  bool adds_to_matrix(const Node& lookup) const {
    const NodeView view(lookup);
    return lookup.inputs.size() == 4 && lookup.inputs[3] != no_value &&
           view.attr_int("axis", 0) == 0 && graph_[lookup.inputs[1]].type.is_tensor();
  }

  const Graph& graph_;
  const OpDef* gemm_adam_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const AdamFuser fuser(graph, *context.catalogue);
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
}

}  // namespace

const Pass fuse_gemm_adam{"fuse_gemm_adam", run};

}  // namespace ondine::graph
