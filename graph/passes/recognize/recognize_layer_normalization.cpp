// d / sqrt(mean(d^2) + epsilon), d = x - mean(x), over the last axes, becomes Normalize; Normalize
// times a scale, plus a bias, becomes LayerNormalization. x / sqrt(mean(x^2) + epsilon) times a
// scale becomes RMSNormalization.
#include <algorithm>
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class Recognizer {
 public:
  Recognizer(const Graph& graph, const Catalogue& catalogue, const Uses& uses)
      : graph_(&graph),
        uses_(&uses),
        normalize_op_(catalogue.find(ondine_domain, "Normalize")),
        layer_normalization_(catalogue.find("", "LayerNormalization")),
        rms_normalization_(catalogue.find("", "RMSNormalization")) {}
  explicit operator bool() const {
    return normalize_op_ != nullptr && layer_normalization_ != nullptr &&
           rms_normalization_ != nullptr;
  }

  bool operator()(Node& node) const {
    if (!node.op->domain.empty() || node.outputs.size() != 1) return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    if (node.op->name == "Div") return normalize(node);
    if (node.op->name == "Mul") {
      return either(node, [&](auto i) { return scale(node, i) || scale_root(node, i); });
    }
    if (node.op->name == "Add") return either(node, [&](auto i) { return bias(node, i); });
    return false;
  }

 private:
  template <class Try>
  static bool either(const Node& node, Try attempt) {
    return node.inputs.size() == 2 && (attempt(std::size_t{0}) || attempt(std::size_t{1}));
  }

  // The first of the mean's axes if these are the last axes.
  std::optional<std::int64_t> last_axes(const Node& mean) const {
    const Type& type = (*graph_)[mean.inputs[0]].type;
    const NodeView view(mean);
    if (!type.ranked() || view.attr_int("keepdims", 1) == 0) return std::nullopt;
    auto axes = view.attr_ints("axes");
    if (view.has_input(1)) {
      const auto given = uses_->integers(mean.inputs[1]);
      if (!given) return std::nullopt;
      axes = *given;
    }
    const auto rank = static_cast<std::int64_t>(type.dims->size());
    for (auto& axis : axes) axis += axis < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    const auto count = static_cast<std::int64_t>(axes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      if (axes[static_cast<std::size_t>(i)] != rank - count + i) return std::nullopt;
    }
    return count == 0 ? std::nullopt : std::optional(rank - count);
  }

  // d^2 of the value d, which the returned node's readers and `square` alone read.
  bool squares(const Node& square, ValueId d) const {
    if (square.inputs[0] != d) return false;
    return square.op->name == "Mul" ? square.inputs[1] == d
                                    : uses_->number(square.inputs[1]) == 2.0;
  }

  const Node* deviation(ValueId id, const Node& square) const {
    return uses_->producer_for(id, square.op->name == "Mul" ? 3 : 2, "Sub");
  }

  struct Root {
    const Node* mean;
    float epsilon;
  };
  // sqrt(mean + epsilon)
  std::optional<Root> root_of(ValueId id) const {
    const Node* root = uses_->producer_for(id, 1, "Sqrt");
    const Node* sum = root != nullptr ? uses_->producer_for(root->inputs[0], 1, "Add") : nullptr;
    if (sum == nullptr) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const auto epsilon = uses_->number(sum->inputs[1 - i]);
      const Node* mean = uses_->producer_for(sum->inputs[i], 1, "ReduceMean");
      if (epsilon && mean != nullptr && *epsilon >= 0) {
        return Root{mean, static_cast<float>(*epsilon)};
      }
    }
    return std::nullopt;
  }
  // One over it.
  std::optional<Root> inverse_of(ValueId id) const {
    if (const Node* node = uses_->producer_for(id, 1, "Reciprocal"))
      return root_of(node->inputs[0]);
    const Node* node = uses_->producer_for(id, 1, "Div");
    const bool inverts = node != nullptr && uses_->number(node->inputs[0]) == 1.0;
    return inverts ? root_of(node->inputs[1]) : std::nullopt;
  }
  const Node* square_of(const Node& mean) const {
    const Node* power = uses_->producer_for(mean.inputs[0], 1, "Pow");
    return power != nullptr ? power : uses_->producer_for(mean.inputs[0], 1, "Mul");
  }

  bool normalize(Node& node) const {
    const auto root = root_of(node.inputs[1]);
    return root && normalize(node, *root->mean, root->epsilon);
  }

  bool normalize(Node& node, const Node& variance, float epsilon) const {
    const ValueId d = node.inputs[0];
    const Node* square = square_of(variance);
    if (square == nullptr || !squares(*square, d)) return false;
    const Node* difference = deviation(d, *square);
    if (difference == nullptr) return false;
    const ValueId x = difference->inputs[0];
    const Node* mean = uses_->producer_for(difference->inputs[1], 1, "ReduceMean");
    if (mean == nullptr || mean->inputs[0] != x) return false;
    const auto axis = last_axes(*mean);
    if (!axis || last_axes(variance) != axis) return false;
    if (!same_tensor_type(*graph_, x, node.outputs[0])) return false;
    node.op = normalize_op_;
    node.version = 1;
    node.inputs = {x};
    node.attributes = {{"axis", *axis}, {"epsilon", epsilon}};
    return true;
  }

  // Whether the value has the shape of the normalized axes.
  bool is_row(ValueId id, const Node& normal) const {
    return is_row(id, normal.inputs[0], NodeView(normal).attr_int("axis", -1));
  }
  bool is_row(ValueId id, ValueId of, std::int64_t first) const {
    const Type& x = (*graph_)[of].type;
    const Type& row = (*graph_)[id].type;
    if (!x.ranked() || !row.ranked() || row.dtype != x.dtype) return false;
    const auto axis = NodeView::normalize_axis(first, x.dims->size());
    return row.dims->size() == x.dims->size() - axis &&
           std::equal(row.dims->begin(), row.dims->end(),
                      x.dims->begin() + static_cast<std::ptrdiff_t>(axis),
                      [](Dim a, Dim b) { return a.same(b); });
  }

  // LayerNormalization computes statistics in float32, Normalize in the dtype of x.
  bool scale(Node& node, std::size_t i) const {
    const Node* normal = uses_->producer_for(node.inputs[i], 1, "Normalize", ondine_domain);
    if (normal == nullptr || !is_row(node.inputs[1 - i], *normal)) return false;
    if ((*graph_)[node.outputs[0]].type.dtype != DType::float32) return false;
    node.inputs = {normal->inputs[0], node.inputs[1 - i]};
    node.op = layer_normalization_;
    node.version = 17;
    node.attributes = normal->attributes;
    return true;
  }

  // x / root or x times its inverse, times a scale.
  bool scale_root(Node& node, std::size_t i) const {
    if (const Node* ratio = uses_->producer_for(node.inputs[i], 1, "Div")) {
      const auto root = root_of(ratio->inputs[1]);
      return root && scale_root(node, i, ratio->inputs[0], *root);
    }
    const Node* product = uses_->producer_for(node.inputs[i], 1, "Mul");
    if (product == nullptr) return false;
    for (const std::size_t of : {std::size_t{0}, std::size_t{1}}) {
      const auto root = inverse_of(product->inputs[1 - of]);
      if (root && scale_root(node, i, product->inputs[of], *root)) return true;
    }
    return false;
  }
  bool scale_root(Node& node, std::size_t i, ValueId x, const Root& root) const {
    const Node* square = square_of(*root.mean);
    if (square == nullptr || !squares(*square, x)) return false;
    const auto axis = last_axes(*root.mean);
    const ValueId scale = node.inputs[1 - i];
    if (!axis || !is_row(scale, x, *axis) || !same_tensor_type(*graph_, x, node.outputs[0])) {
      return false;
    }
    node.inputs = {x, scale};
    node.op = rms_normalization_;
    node.version = 23;
    node.attributes = {{"axis", *axis}, {"epsilon", root.epsilon}};
    return true;
  }

  bool bias(Node& node, std::size_t i) const {
    const Node* normal = uses_->producer_for(node.inputs[i], 1, "LayerNormalization");
    if (normal == nullptr || normal->inputs.size() != 2 || normal->outputs.size() != 1)
      return false;
    if (!is_row(node.inputs[1 - i], *normal)) return false;
    node.inputs = {normal->inputs[0], normal->inputs[1], node.inputs[1 - i]};
    node.op = layer_normalization_;
    node.version = 17;
    node.attributes = normal->attributes;
    return true;
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* normalize_op_;
  const OpDef* layer_normalization_;
  const OpDef* rms_normalization_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    const Recognizer recognizer(graph, *context.catalogue, uses);
    return recognizer && recognizer(node);
  });
}

}  // namespace

const Pass recognize_layer_normalization{"recognize_layer_normalization", run};

}  // namespace ondine::graph
