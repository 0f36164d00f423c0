#include "kernels/quantize/granularity.h"

#include "graph/contract/ops.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

std::size_t axis_of(const NodeView& node, std::size_t rank) {
  // A vector has no axis 1, the default.
  return rank == 1 ? 0 : NodeView::normalize_axis(node.attr_int("axis", 1), rank);
}

std::int64_t block_of(const NodeView& node) {
  const std::int64_t block = node.attr_int("block_size", 0);
  if (block < 0) fail(ErrorCode::mismatch, "block_size is ", block);
  return block;
}

}  // namespace

Granularity::Granularity(const NodeView& node, const Shape& x, const Shape& scale) {
  const std::int64_t block = block_of(node);
  if (scale.rank() <= 1 && scale.size() == 1) {
    inner_ = std::max<std::int64_t>(1, x.size());
    return;
  }
  const auto reject = [&] {
    fail(ErrorCode::mismatch, "a scale of shape ", scale, " does not fit x of shape ", x,
         block > 0 ? cat(" with blocks of ", block) : std::string());
  };
  if (x.rank() == 0) reject();
  const std::size_t axis = axis_of(node, x.rank());
  const AxisView view(x, axis);
  inner_ = std::max<std::int64_t>(1, view.inner);
  axis_size_ = std::max<std::int64_t>(1, view.dim);
  is_last_ = axis + 1 == x.rank();
  if (block == 0) {
    if (scale.rank() != 1 || scale[0] != view.dim) reject();
    stride_ = 1;
    return;
  }
  if (scale.rank() != x.rank()) reject();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t want = i == axis ? x[i] / block + (x[i] % block != 0) : x[i];
    if (scale[i] != want) reject();
  }
  block_ = block;
  stride_ = view.inner;
  outer_stride_ = view.inner * scale[axis];
  inner_stride_ = 1;
}

void check_granularity(const InferContext& context) {
  const auto x = context.input(0).shape();
  const auto scale = context.input(1).shape();
  if (x && scale) Granularity(context, *x, *scale);
  block_of(context);
  if (!context.has_input(2) || !context.ranked(1) || !context.ranked(2)) return;
  if (context.rank(1) <= 1 && context.rank(2) <= 1) {  // one element as a scalar or a vector
    unify(product(context.dims(1)), product(context.dims(2)), "numbers of scales and zero points");
    return;
  }
  if (context.rank(1) != context.rank(2)) {
    context.reject("scale ", to_string(context.dims(1)), " and zero point ",
                   to_string(context.dims(2)), " differ in rank");
  }
  for (std::size_t i = 0; i < context.rank(1); ++i) {
    unify(context.dims(1)[i], context.dims(2)[i], "dims of scale and zero point");
  }
}

Val broadcastable(const NodeView& node, Val scale, Val x) {
  if (!scale.ranked() || !x.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of a quantization needs known ranks");
  }
  if (scale.rank() == 0) return scale;
  if (scale.rank() == 1 && scale.dims()[0].same(Dim(1))) return squeeze(scale, {0});
  const std::size_t axis = axis_of(node, x.rank());
  const std::int64_t block = block_of(node);
  if (block == 0) {
    std::vector<std::int64_t> trailing;
    for (std::size_t i = axis + 1; i < x.rank(); ++i) {
      trailing.push_back(static_cast<std::int64_t>(trailing.size()) + 1);
    }
    return trailing.empty() ? scale : unsqueeze(scale, trailing);
  }
  Builder& b = x.builder();
  const auto at = static_cast<std::int64_t>(axis);
  const Val dim = squeeze(dim_of(x, at), {0});
  const Val indices = b.node("Range", {b.int64(0), dim, b.int64(1)});
  return gather(scale, indices / b.int64(block), at);
}

}  // namespace ondine::kernels
