// Where(shape == -1, 1, shape) becomes the shape with 1 in the places of -1, as PyTorch's exporter
// writes the shapes of expand. The types behind it then are known before there are sizes.
#include <algorithm>

#include "graph/contract/infer_node.h"
#include "graph/passes/fuse.h"
#include "graph/passes/refined_types.h"

namespace ondine::graph {
namespace {

bool all_equal(const std::optional<std::vector<std::int64_t>>& values, std::int64_t to) {
  return values && !values->empty() &&
         std::ranges::all_of(*values, [to](std::int64_t value) { return value == to; });
}

class Resolver {
 public:
  Resolver(Graph& graph, const OpDef& concat, const Uses& uses)
      : graph_(graph), concat_(concat), uses_(uses) {}

  bool operator()(Node& node) const {
    if (node.op->name != "Where" || !node.op->domain.empty()) return false;
    const ValueId shape = node.inputs[2];
    if (!all_equal(uses_.integers(node.inputs[1]), 1) || !keeps(node.inputs[0], shape)) {
      return false;
    }
    const auto count = vector_size(shape);
    if (!count || vector_size(node.outputs[0]) != count) return false;
    auto parts = resolved(shape);
    if (parts.empty()) return false;
    node.op = &concat_;
    node.version = 13;
    node.inputs = std::move(parts);
    node.attributes = {{"axis", std::int64_t{0}}};
    return true;
  }

 private:
  // Whether it says which elements of `shape` are -1.
  bool keeps(ValueId condition, ValueId shape) const {
    const Node* equal = uses_.producer(condition, "Equal");
    if (equal == nullptr) return false;
    const std::size_t of = equal->inputs[0] == shape ? 0 : 1;
    return equal->inputs[of] == shape && all_equal(uses_.integers(equal->inputs[1 - of]), -1);
  }

  std::optional<std::int64_t> vector_size(ValueId id) const {
    const auto shape = graph_[id].type.shape();
    return shape && shape->rank() == 1 ? std::optional((*shape)[0]) : std::nullopt;
  }

  // Values to concatenate; none where an element is not known to be a size or -1.
  std::vector<ValueId> resolved(ValueId shape) const {
    const Node* concat = uses_.producer(shape, "Concat");
    const std::vector<ValueId> parts = concat != nullptr ? concat->inputs : std::vector{shape};
    std::vector<ValueId> result;
    for (const ValueId part : parts) {
      if (const auto values = uses_.integers(part)) {
        result.push_back(without_minus_one(part, *values));
      } else if (are_sizes(part)) {
        result.push_back(part);
      } else {
        return {};
      }
    }
    return result;
  }

  ValueId without_minus_one(ValueId part, std::vector<std::int64_t> values) const {
    if (std::ranges::find(values, -1) == values.end()) return part;
    std::ranges::replace(values, -1, 1);
    Tensor tensor = Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
    const ValueId id = graph_.add_temporary("shape", Type::tensor(DType::int64, tensor.shape()));
    graph_[id].constant = std::move(tensor);
    return id;
  }

  bool are_sizes(ValueId part) const {
    const auto& known = *graph_[part].known_dims;
    const auto count = vector_size(part);
    return known && count && *count == static_cast<std::int64_t>(known->size()) &&
           std::ranges::all_of(*known, [](Dim dim) { return dim.known() || dim.has_symbol(); });
  }

  Graph& graph_;
  const OpDef& concat_;
  const Uses& uses_;
};

bool run(Graph& graph, const PassContext& context) {
  const OpDef* concat =
      context.catalogue != nullptr ? context.catalogue->find("", "Concat") : nullptr;
  if (concat == nullptr) return false;
  const Uses uses(graph);
  RefinedTypes refined(graph);
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (Resolver(graph, *concat, uses)(node)) {
      infer_node(node, graph);
      refined.add(node.outputs[0]);
      changed = true;
    } else {
      changed = refined.infer_readers(node) || changed;
    }
  }
  return changed;
}

}  // namespace

const Pass resolve_expand{"resolve_expand", run};

}  // namespace ondine::graph
