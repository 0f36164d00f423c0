// ReluGrad(MaxPoolGrad(dy, indices, shape), x), where MaxPool(x) gave y and the indices, becomes
// MaxPoolGrad(ReluGrad(dy, y), indices, shape): each element of y is a copy of the element of x at
// its index, so either both are positive or neither is. This computes the same bits from fewer
// elements, and the backward pass no longer reads x. A ReduceSum of the result over whole planes
// sums ReluGrad(dy, y) instead; it adds in another order.
#include <algorithm>
#include <unordered_map>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class GradientMover {
 public:
  GradientMover(Graph& graph, const Catalogue& catalogue)
      : graph_(graph), relu_grad_(catalogue.find(ondine_domain, "ReluGrad")) {
    for (const Node& node : graph.nodes) {
      if (node.op->name != "MaxPool" || !node.op->domain.empty()) continue;
      if (node.outputs.size() < 2 || std::ranges::count(node.outputs, no_value) > 0) continue;
      pools_.emplace(node.outputs[1], Pool{node.inputs[0], node.outputs[0]});
    }
  }

  // Appends the nodes that are to be inserted before `node`.
  bool move(Node& node, const Uses& uses, std::vector<Node>& before) {
    if (pools_.empty()) return false;
    if (node.op == relu_grad_) return move_relu(node, uses, before);
    if (node.op->name == "ReduceSum" && node.op->domain.empty()) return move_sum(node, uses);
    return false;
  }

 private:
  struct Pool {
    ValueId x;
    ValueId y;
  };

  bool move_relu(Node& relu, const Uses& uses, std::vector<Node>& before) {
    const Node* spread = uses.sole_producer(relu.inputs[0], "MaxPoolGrad", ondine_domain);
    if (spread == nullptr) return false;
    const auto pool = pools_.find(spread->inputs[1]);
    if (pool == pools_.end() || pool->second.x != relu.inputs[1]) return false;
    const ValueId dy = spread->inputs[0];
    if (!same_tensor_type(graph_, dy, pool->second.y)) return false;
    Node first = relu;
    first.inputs = {dy, pool->second.y};
    first.outputs = {graph_.add_temporary(graph_[relu.outputs[0]].name, graph_[dy].type)};
    Node second = *spread;
    second.inputs[0] = first.outputs[0];
    second.outputs = std::move(relu.outputs);
    moved_.emplace(second.outputs[0], first.outputs[0]);
    relu = std::move(second);
    before.push_back(std::move(first));
    return true;
  }

  bool move_sum(Node& sum, const Uses& uses) const {
    const auto moved = moved_.find(sum.inputs[0]);
    if (moved == moved_.end() || sum.inputs.size() < 2 || !sums_planes(sum, uses)) return false;
    sum.inputs[0] = moved->second;
    return true;
  }

  // Whether it sums over all dims but batch and channels, and maybe over these too.
  bool sums_planes(const Node& sum, const Uses& uses) const {
    const Type& type = graph_[sum.inputs[0]].type;
    const auto axes = uses.integers(sum.inputs[1]);
    if (!type.ranked() || !axes) return false;
    const auto rank = static_cast<std::int64_t>(type.rank());
    for (std::int64_t axis = 2; axis < rank; ++axis) {
      const auto is_axis = [&](std::int64_t a) { return a == axis || a + rank == axis; };
      if (std::ranges::none_of(*axes, is_axis)) return false;
    }
    return true;
  }

  Graph& graph_;
  const OpDef* relu_grad_;
  std::unordered_map<ValueId, Pool> pools_;     // by their indices
  std::unordered_map<ValueId, ValueId> moved_;  // what MaxPoolGrad gives -> what it spreads
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  GradientMover mover(graph, *context.catalogue);
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return mover.move(node, uses, before);
  });
}

}  // namespace

const Pass move_relu_gradient{"move_relu_gradient", run};

}  // namespace ondine::graph
