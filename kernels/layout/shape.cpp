// shape.cpp — dims of x as int64 (start, end from version 15); Size: their product. No
// derivative.
#include <algorithm>

#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

// [start, end) clamped as Shape-15 defines.
std::pair<std::size_t, std::size_t> range(const NodeView& node, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  const auto clamp = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n);
  };
  const auto start = clamp(node.attr_int("start", 0));
  const auto end = clamp(node.attr_int("end", n));
  return {static_cast<std::size_t>(start), static_cast<std::size_t>(std::max(start, end))};
}

void infer_shape(InferContext& context) {
  if (!context.ranked(0)) return context.set_output(0, DType::int64, Dims{Dim()});
  const auto [start, end] = range(context, context.rank(0));
  const Dims& dims = context.dims(0);
  const Dims part(dims.begin() + static_cast<std::ptrdiff_t>(start),
                  dims.begin() + static_cast<std::ptrdiff_t>(end));
  context.set_output(0, DType::int64, Dims{static_cast<std::int64_t>(part.size())});
  context.set_known_dims(0, part);
}

Kernel bind_shape(BindContext& context) {
  const Shape shape = context.shape(0);
  const auto [start, end] = range(context, shape.rank());
  const Shape part(shape.span().subspan(start, end - start));
  return [part](KernelContext& call) {
    std::copy(part.begin(), part.end(), call.out<std::int64_t>(0));
  };
}

void infer_size(InferContext& context) {
  context.set_output(0, DType::int64, Dims{});
  if (context.ranked(0)) context.set_known_dims(0, {product(context.dims(0))});
}

Kernel bind_size(BindContext& context) {
  const std::int64_t size = context.shape(0).size();
  return [size](KernelContext& call) { *call.out<std::int64_t>(0) = size; };
}

}  // namespace

extern const OpDef shape{.name = "Shape",
                         .infer = infer_shape,
                         .bind = bind_shape,
                         .traits = {.shape_only = 1, .cheap = true},
                         .no_gradient = 1};
extern const OpDef size{.name = "Size",
                        .infer = infer_size,
                        .bind = bind_size,
                        .traits = {.shape_only = 1, .cheap = true},
                        .no_gradient = 1};

}  // namespace ondine::kernels::ops
