// Helpers that the rules of normalizations over the axes from `axis` on share.
#pragma once

#include <vector>

#include "kernels/common/broadcast.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {

struct NormRows {
  std::size_t axis;
  std::int64_t count;
  std::int64_t length;
};

inline NormRows norm_rows(const graph::NodeView& node, const Shape& x) {
  const auto axis = graph::NodeView::normalize_axis(node.attr_int("axis", -1), x.rank());
  return {axis, x.size(0, axis), x.size(axis, x.rank())};
}

// A scale or bias as a whole row: repeated in scratch memory where its shape is broadcast.
template <class C>
class RowIn {
 public:
  RowIn(const graph::BindContext& context, Scratch& scratch, std::size_t index, const Shape& x,
        std::size_t axis)
      : source_(context, scratch, index) {
    if (!source_) return;
    const Shape have = context.shape(index);
    const Shape row(x.span().subspan(axis));
    if (have.size() == row.size()) return;
    offset_ = scratch.add<C>(row.size());
    from_ = broadcast_offsets(have.span(), row.span(), 1);
  }
  const C* operator()(graph::KernelContext& call) const {
    const C* source = source_(call);
    if (from_.empty()) return source;
    C* row = Scratch::at<C>(call, offset_);
    for (std::size_t i = 0; i < from_.size(); ++i) row[i] = source[from_[i]];
    return row;
  }

 private:
  ComputeIn<C> source_;
  std::vector<std::int64_t> from_;
  std::size_t offset_ = 0;
};

inline std::vector<std::int64_t> row_axes(const NodeView& node, Val x) {
  if (!x.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of ", node.node().op->name, " needs a known rank");
  }
  const auto axis = NodeView::normalize_axis(node.attr_int("axis", -1), x.rank());
  std::vector<std::int64_t> axes;
  for (std::size_t i = axis; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

// Rows within samples, with the same scale and bias.
inline bool normalizes_rows_of_samples(const Node& node, const Graph& graph) {
  const std::size_t rank = graph[node.outputs[0]].type.rank();
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != no_value && graph[node.inputs[i]].type.rank() >= rank) return false;
  }
  return NodeView::normalize_axis(NodeView(node).attr_int("axis", -1), rank) > 0;
}

}  // namespace ondine::kernels::ops
