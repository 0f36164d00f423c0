// max_unpool.cpp — y = 0 but y[I] = x, I being MaxPool's indices into an array whose dims are
// (in - 1) stride - pads + kernel; with output_shape that array is the first part of y. dx = dy[I].
// Version 22 added bfloat16.
#include <algorithm>

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/pool/pool.h"

namespace ondine::kernels::ops {
namespace {

// Per axis of x, batch and channels included: whole = (in - 1) * factor + offset.
struct Unpooled {
  std::vector<std::int64_t> factor{1, 1};
  std::vector<std::int64_t> offset{1, 1};

  explicit Unpooled(const NodeView& node) {
    const auto kernel = kernel_shape(node);
    const Window window = read_window(node, kernel);
    require_spatial(kernel.size());
    for (const WindowAxis& axis : window.axes) {
      factor.push_back(axis.stride);
      offset.push_back(axis.kernel - checked_add(axis.begin, axis.end));
    }
  }
  std::int64_t dim(std::size_t axis, std::int64_t in) const {
    const auto whole = checked_add(checked_mul(in - 1, factor[axis]), offset[axis]);
    if (whole < 0) fail(ErrorCode::mismatch, "padding removes all elements of axis ", axis);
    return whole;
  }
};

void infer(InferContext& context) {
  const Unpooled unpooled(context);
  const Dims x = dims_of_rank(context, 0, unpooled.factor.size(), "X");
  if (context.dtype(1) != DType::int64) context.reject("I must be int64");
  if (context.ranked(1) && !compatible(Type::tensor(DType::int64, x), context.input(1))) {
    context.reject("X ", graph::to_string(x), " and I ", graph::to_string(context.dims(1)),
                   " differ in shape");
  }
  Dims whole;
  for (std::size_t i = 0; i < x.size(); ++i) {
    whole.push_back(i < 2 ? x[i] : x[i].known() ? Dim(unpooled.dim(i, x[i].size())) : Dim());
  }
  if (!context.has_input(2)) return context.set_output(0, context.dtype(0), whole);
  const auto wanted = dims_from_input(context, 2);
  if (wanted) {
    bool fits = wanted->size() == whole.size();
    for (std::size_t i = 0; fits && i < whole.size(); ++i) {
      const Dim have = (*wanted)[i];
      fits = !have.known() || !whole[i].known() || have.size() >= whole[i].size();
    }
    if (!fits) {
      context.reject("output_shape ", graph::to_string(*wanted), " does not hold the unpooled ",
                     graph::to_string(whole));
    }
  }
  context.set_output(0, context.dtype(0), wanted ? *wanted : Dims(whole.size()));
}

Kernel bind(BindContext& context) {
  const Unpooled unpooled(context);
  const Shape x = context.shape(0);
  const Shape y = *context.output_shape(0);
  Shape whole = x;
  for (std::size_t i = 2; i < x.rank(); ++i) whole[i] = unpooled.dim(i, x[i]);
  const std::int64_t count = x.size();
  const std::int64_t limit = whole.size();
  const std::int64_t size = y.size();
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      T* to = call.out<T>(0);
      std::fill_n(to, size, T{});
      for (std::int64_t i = 0; i < count; ++i) {
        checkpoint(16);
        std::int64_t at = call.in<std::int64_t>(1)[i];
        if (at < 0 || at >= limit) {
          fail(ErrorCode::mismatch, "index ", at, " lies outside of the ", limit, " elements");
        }
        std::int64_t offset = 0;
        std::int64_t stride = 1;
        for (std::size_t axis = whole.rank(); axis-- > 0;) {
          offset += at % whole[axis] * stride;
          at /= whole[axis];
          stride *= y[axis];
        }
        to[offset] = call.in<T>(0)[i];
      }
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  Val dy = g.dy(0);
  if (g.has_input(2)) {
    const Unpooled unpooled(g);
    const Val ends = (graph::shape_of(g.x(0)) - b.int64(1)) * b.int64s(unpooled.factor) +
                     b.int64s(unpooled.offset);
    const Val starts = b.int64s(std::vector<std::int64_t>(unpooled.factor.size()));
    dy = b.node("Slice", {dy, starts, ends});
  }
  return {b.node("MaxPoolGather", {dy, g.x(1)}, {}, ondine_domain)};
}

}  // namespace

extern const OpDef max_unpool{.name = "MaxUnpool", .infer = infer, .bind = bind, .grad = grad};

}  // namespace ondine::kernels::ops
