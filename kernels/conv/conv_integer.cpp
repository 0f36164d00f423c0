// conv_integer.cpp — ConvInteger: the convolution of x - zx and w - zw in int32; QLinearConv: the
// same plus B, times x_scale w_scale / y_scale, rounded to even, plus the zero point of y,
// saturated. Zero point and scale of w are one for all or one for each output channel. Expansions
// into Conv; no derivatives.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/conv.h"
#include "kernels/quantize/requantize.h"

namespace ondine::kernels::ops {
namespace {

std::optional<Dims> dims_if_ranked(const InferContext& context, std::size_t i) {
  return context.ranked(i) ? std::optional(context.dims(i)) : std::nullopt;
}

// One element, or one for each of `count`.
void check_parameter(const InferContext& context, std::size_t p, Dim count, std::string_view what) {
  if (!context.has_input(p) || !context.ranked(p)) return;
  const Dims& dims = context.dims(p);
  if (dims.size() > 1) context.reject(what, " must have rank 0 or 1, found ", dims.size());
  if (dims.size() == 1 && !dims[0].same(Dim(1))) unify(dims[0], count, what);
}

void infer_convolution(InferContext& context, std::size_t w, DType result) {
  const auto weights = dims_if_ranked(context, w);
  context.set_output(0, result, conv_dims(context, dims_if_ranked(context, 0), weights));
}

Dim output_channels(const InferContext& context, std::size_t w) {
  return context.ranked(w) && context.rank(w) > 0 ? context.dims(w)[0] : Dim();
}

void infer_integer(InferContext& context) {
  check_parameter(context, 2, 1, "the zero point of x");
  check_parameter(context, 3, output_channels(context, 1), "the zero point of w");
  infer_convolution(context, 1, DType::int32);
}

void infer_quantized(InferContext& context) {
  const Dim channels = output_channels(context, 3);
  check_parameter(context, 1, 1, "the scale of x");
  check_parameter(context, 2, 1, "the zero point of x");
  check_parameter(context, 4, channels, "the scale of w");
  check_parameter(context, 5, channels, "the zero point of w");
  check_parameter(context, 6, 1, "the scale of y");
  check_parameter(context, 7, 1, "the zero point of y");
  if (context.has_input(8)) unify(dims_of_rank(context, 8, 1, "B")[0], channels, "output channels");
  infer_convolution(context, 3, context.dtype(7));
}

// A vector over axis 0 of w, or over the channels of y, with `behind` extents of 1 behind it.
Val over_channels(Val p, std::size_t behind) {
  if (!p || !p.ranked() || p.rank() != 1 || p.dims()[0].same(Dim(1))) return p;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < behind; ++i) axes.push_back(static_cast<std::int64_t>(i) + 1);
  return graph::unsqueeze(p, axes);
}

Val convolve(ExpandContext& context, Val x, Val zx, Val w, Val zw, Val bias) {
  if (!w.ranked()) fail(ErrorCode::unsupported, "an integer convolution needs a known rank of w");
  // Sums are exact in double; in float a convolution may be made by filters that round.
  const DType wide = DType::float64;
  return context.builder().node(
      "Conv",
      {centred(x, zx, wide), centred(w, over_channels(zw, w.rank() - 1), wide),
       bias ? graph::cast(bias, wide) : Val()},
      context.node().attributes);
}

std::vector<Val> expand_integer(ExpandContext& context) {
  const Val y = convolve(context, context.x(0), context.x(2), context.x(1), context.x(3), Val());
  return {graph::cast(y, DType::int32)};
}

std::vector<Val> expand_quantized(ExpandContext& context) {
  const Val y =
      convolve(context, context.x(0), context.x(2), context.x(3), context.x(5), context.x(8));
  const DType wide = DType::float64;
  const Val by_channel = over_channels(context.x(4), context.x(3).rank() - 2);
  const Val scale = graph::cast(context.x(1), wide) * graph::cast(by_channel, wide);
  return {requantize(y, scale, context.x(6), context.x(7))};
}

}  // namespace

extern const OpDef conv_integer{.name = "ConvInteger",
                                .infer = infer_integer,
                                .expand = expand_integer,
                                .no_gradient = any_input};
extern const OpDef qlinear_conv{.name = "QLinearConv",
                                .infer = infer_quantized,
                                .expand = expand_quantized,
                                .no_gradient = any_input};

}  // namespace ondine::kernels::ops
