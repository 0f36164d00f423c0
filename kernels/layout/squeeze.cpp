// squeeze.cpp — y = x without the given axes, all of size 1 (no axes: every axis of size 1);
// dx = dy in x's shape. Axes are an attribute before version 13, then an input.
#include "kernels/common/reshape_kernel.h"

namespace ondine::kernels::ops {
namespace {

std::vector<bool> removed(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<bool> out(rank);
  for (const std::size_t axis : normalize_axes(axes, rank)) out[axis] = true;
  return out;
}

void require_one(std::size_t axis, std::int64_t size) {
  if (size != 1) {
    fail(ErrorCode::mismatch, "cannot squeeze axis ", axis, ": its size is ", size, ", not 1");
  }
}

Shape squeezed(const Shape& x, bool given, std::span<const std::int64_t> axes) {
  const auto gone = removed(axes, x.rank());
  Shape out;
  for (std::size_t a = 0; a < x.rank(); ++a) {
    if (gone[a]) require_one(a, x[a]);
    if (given ? !gone[a] : x[a] != 1) out.push_back(x[a]);
  }
  return out;
}

void infer(InferContext& context) {
  const IntegerParameter axes(context, "axes", 13, 1);
  if (!context.ranked(0)) return set_reshaped_output(context, std::nullopt);
  const Dims& dims = context.dims(0);
  Dims out;
  if (!axes.known()) {
    const auto count = axes.count();
    if (!count) return set_reshaped_output(context, std::nullopt);
    if (*count > static_cast<std::int64_t>(dims.size())) {
      context.reject(*count, " axes to squeeze from rank ", dims.size());
    }
    return set_reshaped_output(context, Dims(dims.size() - static_cast<std::size_t>(*count)));
  }
  const auto gone = removed(axes.values(), dims.size());
  for (std::size_t a = 0; a < dims.size(); ++a) {
    if (gone[a] && dims[a].known()) require_one(a, dims[a].size());
    if (!axes.given() && !dims[a].known()) return set_reshaped_output(context, std::nullopt);
    if (axes.given() ? !gone[a] : !dims[a].same(1)) out.push_back(dims[a]);
  }
  set_reshaped_output(context, out);
}

Kernel bind(BindContext& context) {
  const IntegerParameter axes(context, "axes", 13, 1);
  return bind_reshape(context, axes, [x = context.shape(0), given = axes.given()](auto values) {
    return squeezed(x, given, values);
  });
}

}  // namespace

extern const OpDef squeeze_op{.name = "Squeeze",
                              .infer = infer,
                              .bind = bind,
                              .grad = reshape_gradient,
                              .traits = reshape_traits,
                              .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
