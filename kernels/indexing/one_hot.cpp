// one_hot.cpp — y = values[1] where the position along a new axis of size depth is the index,
// values[0] elsewhere (also for an index outside [-depth, depth));  d values = the sums of dy over
// both kinds of positions. Version 11 allows negative indices.
#include <cmath>

#include "kernels/common/element_conversion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

std::size_t new_axis(const NodeView& node, std::size_t rank) {
  return NodeView::normalize_axis(node.attr_int("axis", -1), rank + 1);
}

template <class T>
std::int64_t truncated(T value) {
  const auto x = load(value);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(x);
  } else {
    return std::fabs(x) < compute_t<T>(0x1p62) ? static_cast<std::int64_t>(x) : INT64_MIN;
  }
}

std::int64_t depth_from(DType dtype, const void* data) {
  const std::int64_t depth =
      visit(dtype, Numbers{}, [&]<class T>() { return truncated(*static_cast<const T*>(data)); });
  if (depth < 0) fail(ErrorCode::mismatch, "depth is ", depth);
  return depth;
}

void infer(InferContext& context) {
  const Type& values = context.input(2);
  if (const auto shape = values.shape(); shape && !(*shape == Shape{2})) {
    context.reject("values have shape ", *shape, ", not [2]");
  }
  if (!context.ranked(0)) return context.set_output(0, values.dtype, std::nullopt);
  Dims dims = context.dims(0);
  Dim depth;
  if (const Tensor* constant = context.constant(1)) {
    if (constant->size() != 1) context.reject("depth has shape ", constant->shape());
    depth = depth_from(constant->dtype(), constant->data());
  } else if (const auto known = context.known_dims(1); known && known->size() == 1) {
    depth = (*known)[0];
  }
  const auto axis = static_cast<std::ptrdiff_t>(new_axis(context, dims.size()));
  dims.insert(dims.begin() + axis, depth);
  context.set_output(0, values.dtype, std::move(dims));
}

Kernel bind(BindContext& context) {
  const Shape indices = context.shape(0);
  const std::size_t axis = new_axis(context, indices.rank());
  const DType index_dtype = context.dtype(0);
  const DType depth_dtype = context.dtype(1);
  const DType dtype = context.dtype(2);
  const Output output(context, 0);
  const std::int64_t outer = indices.size(0, axis);
  const std::int64_t inner = indices.size(axis, indices.rank());
  if (context.shape(1).size() != 1 || context.shape(2).size() != 2) {
    fail(ErrorCode::mismatch, "depth has shape ", context.shape(1), ", values have shape ",
         context.shape(2));
  }
  // All indices first, so that the copy below knows sizes only.
  Scratch scratch;
  scratch.add<std::int64_t>(indices.size());
  scratch.request(context);
  return [=](KernelContext& call) {
    const std::int64_t depth = depth_from(depth_dtype, call.in<void>(1));
    Shape shape;
    for (std::size_t a = 0; a < axis; ++a) shape.push_back(indices[a]);
    shape.push_back(depth);
    for (std::size_t a = axis; a < indices.rank(); ++a) shape.push_back(indices[a]);
    auto* index = call.workspace<std::int64_t>();
    visit(index_dtype, Numbers{}, [&]<class I>() {
      const I* in = call.in<I>(0);
      for (std::int64_t i = 0; i < outer * inner; ++i) {
        const std::int64_t at = truncated(in[i]);
        index[i] = at < 0 ? at + depth : at;
      }
    });
    void* to = output.memory(call, shape);
    fill_elements(call.pool(), dtype, shape.size(), call.in<void>(2), to);
    visit_size(dtype, [&]<class T>() {
      const T on = call.in<T>(2)[1];
      T* y = static_cast<T*>(to);
      for (std::int64_t i = 0; i < outer * inner; ++i) {
        if (index[i] < 0 || index[i] >= depth) continue;
        y[(i / inner * depth + index[i]) * inner + i % inner] = on;
      }
    });
  };
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  const Val dy = g.dy(0);
  const Val zero_one[2] = {b.int64s({0}), b.int64s({1})};
  const Val values = cast(concat(zero_one, 0), dy.dtype());
  const Val mask = b.node("OneHot", {g.x(0), g.x(1), values}, {{"axis", g.attr_int("axis", -1)}});
  const Val on = reduce_sum(dy * mask, {}, false);
  const Val off = reduce_sum(dy * (1 - mask), {}, false);
  const Val both[2] = {graph::reshape(off, {1}), graph::reshape(on, {1})};
  return {Val(), Val(), concat(both, 0)};
}

}  // namespace

extern const OpDef one_hot{
    .name = "OneHot", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b11};

}  // namespace ondine::kernels::ops
