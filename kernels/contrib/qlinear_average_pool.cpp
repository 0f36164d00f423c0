// qlinear_average_pool.cpp — com.microsoft QLinearAveragePool and QLinearGlobalAveragePool: the
// pooling of a quantized operand, quantized. With channels_last x is [N, spatial..., C].
#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"
#include "kernels/pool/pool.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { x_in, x_scale_in, x_point_in, y_scale_in, y_point_in };

bool channels_last(const NodeView& node) { return node.attr_int("channels_last", 0) != 0; }

void to_first(Dims& dims) { std::rotate(dims.begin() + 1, dims.end() - 1, dims.end()); }
void to_last(Dims& dims) { std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end()); }

// Dims of x with the channels first; absent while the rank is unknown.
std::optional<Dims> operand(const InferContext& context) {
  require_quantized(context, x_in, x_scale_in, x_point_in);
  require_quantized(context, x_in, y_scale_in, y_point_in);
  if (!context.ranked(x_in)) return std::nullopt;
  Dims x = context.dims(x_in);
  if (x.size() < 3) context.reject("X must have rank 3 or more, found ", x.size());
  if (channels_last(context)) to_first(x);
  return x;
}

void set_result(InferContext& context, std::optional<Dims> y) {
  if (y && channels_last(context)) to_last(*y);
  context.set_output(0, context.dtype(x_in), std::move(y));
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b1011,
                       .inputs = 5,
                       .attributes = {"auto_pad", "ceil_mode", "channels_last", "count_include_pad",
                                      "kernel_shape", "pads", "strides"}});
  set_result(context, pooled_dims(context, operand(context)));
}

void infer_global(InferContext& context) {
  check_call(context, {.required = 0b1011, .inputs = 5, .attributes = {"channels_last"}});
  auto y = operand(context);
  if (y) std::fill(y->begin() + 2, y->end(), Dim(1));
  set_result(context, y);
}

// 0, 2, ..., 1 or 0, n - 1, 1, ...
std::vector<std::int64_t> permutation(std::size_t rank, bool last) {
  std::vector<std::int64_t> perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(i);
  if (last) {
    std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  } else {
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  }
  return perm;
}

std::vector<Val> expand(ExpandContext& context, std::string_view pool) {
  const bool last = channels_last(context);
  Val x = context.x(x_in);
  require_rank(context, x);
  const std::size_t rank = x.rank();
  if (last) x = graph::transpose(x, permutation(rank, false));
  const Val y =
      context.builder().node(pool, {dequantize(x, context.x(x_scale_in), context.x(x_point_in))},
                             pick_attributes(context, {"auto_pad", "ceil_mode", "count_include_pad",
                                                       "kernel_shape", "pads", "strides"}));
  const Val q = quantize(y, context.x(y_scale_in), context.x(y_point_in), context.x(x_in).dtype());
  return {last ? graph::transpose(q, permutation(rank, true)) : q};
}

std::vector<Val> expand_average(ExpandContext& context) { return expand(context, "AveragePool"); }
std::vector<Val> expand_global(ExpandContext& context) {
  return expand(context, "GlobalAveragePool");
}

}  // namespace

extern const OpDef qlinear_average_pool{.name = "QLinearAveragePool",
                                        .domain = contrib_domain,
                                        .infer = infer,
                                        .expand = expand_average};
extern const OpDef qlinear_global_average_pool{.name = "QLinearGlobalAveragePool",
                                               .domain = contrib_domain,
                                               .infer = infer_global,
                                               .expand = expand_global};

}  // namespace ondine::kernels::ops
