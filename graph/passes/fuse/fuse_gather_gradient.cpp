// A sum of tensors, some of them derivatives of Gather: GatherGrad adds its slices to the sum of
// the others, in their memory, instead of to zeros. So the gradient of a table that is looked up
// and multiplied too, as tied embeddings are, is held once.
#include <algorithm>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class GatherGradientFuser {
 public:
  GatherGradientFuser(Graph& graph, const Catalogue& catalogue)
      : graph_(graph), gather_grad_(catalogue.find(ondine_domain, "GatherGrad")) {}

  // Appends the nodes that are to be inserted before `sum`.
  bool fuse(Node& sum, const Uses& uses, std::vector<Node>& before) const {
    if (gather_grad_ == nullptr || !is_sum(sum)) return false;
    const auto is_whole = [&](ValueId id) { return same_tensor_type(graph_, id, sum.outputs[0]); };
    std::vector<Node> lookups;
    std::vector<ValueId> others;
    for (const ValueId id : sum.inputs) {
      const Node* lookup =
          is_whole(id) ? uses.sole_producer(id, "GatherGrad", ondine_domain) : nullptr;
      if (lookup != nullptr && lookup->inputs.size() == 3) {
        lookups.push_back(*lookup);
      } else {
        others.push_back(id);
      }
    }
    if (others.empty() && !lookups.empty()) {
      others.push_back(lookups.front().outputs[0]);  // which adds to zeros, as it stands
      lookups.erase(lookups.begin());
    }
    if (lookups.empty() || std::ranges::none_of(others, is_whole)) return false;
    ValueId total = others.front();
    if (others.size() > 1) {
      Node rest = sum;
      rest.inputs = others;
      total = append(std::move(rest), sum, before);
    }
    for (Node& lookup : lookups) {
      lookup.inputs.push_back(total);
      if (&lookup != &lookups.back()) total = append(std::move(lookup), sum, before);
    }
    lookups.back().outputs = std::move(sum.outputs);
    sum = std::move(lookups.back());
    return true;
  }

 private:
  static bool is_sum(const Node& node) {
    return node.op->domain.empty() && (node.op->name == "Sum" || node.op->name == "Add");
  }

  ValueId append(Node node, const Node& sum, std::vector<Node>& before) const {
    const GraphValue result = graph_[sum.outputs[0]];
    const ValueId id = graph_.add_temporary(result.name, result.type);
    node.outputs = {id};
    before.push_back(std::move(node));
    return id;
  }

  Graph& graph_;
  const OpDef* gather_grad_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const GatherGradientFuser fuser(graph, *context.catalogue);
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return fuser.fuse(node, uses, before);
  });
}

}  // namespace

const Pass fuse_gather_gradient{"fuse_gather_gradient", run};

}  // namespace ondine::graph
