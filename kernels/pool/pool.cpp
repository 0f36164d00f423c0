#include "kernels/pool/pool.h"

#include "kernels/common/integer_parameters.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

std::optional<Dims> pooled_dims(const NodeView& node, const std::optional<Dims>& x) {
  const auto kernel = kernel_shape(node);
  Window window = read_window(node, kernel);
  require_spatial(kernel.size());
  if (!x) return std::nullopt;
  if (kernel.empty() || x->size() != kernel.size() + 2) {
    fail(ErrorCode::mismatch, "kernel_shape has ", kernel.size(), " values, X is ", to_string(*x));
  }
  Dims y{(*x)[0], (*x)[1]};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    y.push_back(output_dim(window.axes[i], (*x)[2 + i], window.auto_pad, window.ceil));
  }
  return y;
}

void infer_pool(InferContext& context) {
  const Type& x = context.input(0);
  context.set_output(0, x.dtype, pooled_dims(context, x.dims));
}

void infer_pool_gradient(InferContext& context) {
  const Type& dy = context.input(0);
  const auto x = dims_from_input(context, 1);
  const auto y = pooled_dims(context, x);
  if (y && !compatible(dy, Type::tensor(dy.dtype, *y))) {
    context.reject("dy is ", graph::to_string(dy), ", expected dims ", graph::to_string(*y));
  }
  context.set_output(0, dy.dtype, x);
}

namespace {

// Whether window o along `dim` holds an element of x.
bool holds_element(const math::PoolShape& s, std::size_t dim, std::int64_t o) {
  const std::int64_t start = o * s.stride[dim] - s.pad[dim];
  const std::int64_t step = s.dilation[dim];
  const std::int64_t first = start < 0 ? (-start + step - 1) / step : 0;
  return first < s.kernel[dim] && start + first * step < s.in[dim];
}

}  // namespace

math::PoolShape pool_shape(const NodeView& node, const Shape& x, bool padding_counts) {
  const auto kernel = kernel_shape(node);
  Window window = read_window(node, kernel);
  math::PoolShape s{.planes = x[0] * x[1],
                    .in = spatial_dims(x.span().subspan(2)),
                    .kernel = spatial_dims(kernel),
                    .count_include_pad = padding_counts};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::size_t at = 3 - kernel.size() + i;
    WindowAxis& axis = window.axes[i];
    s.out[at] = resolve(axis, s.in[at], window.auto_pad, window.ceil);
    s.stride[at] = axis.stride;
    s.dilation[at] = axis.dilation;
    s.pad[at] = axis.begin;
    s.pad_end[at] = axis.end;
  }
  if (padding_counts) return s;
  for (std::size_t dim = 0; dim < 3; ++dim) {
    for (std::int64_t o = 0; o < s.out[dim]; ++o) {
      if (!holds_element(s, dim, o)) {
        fail(ErrorCode::mismatch, "a window lies in the padding altogether: X is ", x);
      }
    }
  }
  return s;
}

}  // namespace ondine::kernels
