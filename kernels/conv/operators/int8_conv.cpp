// Int8Conv (ai.ondine): (x, zero point of x, w, zero point of w[, bias[, scale of x, of w, of y,
// zero point of y]]) and the attributes of Conv -> the convolution of x - zx and w - zw plus the
// bias, exact in int32, which wraps around; with scales as requantize.h says, with the activation
// that `activation` names (Relu, Relu6). ConvInteger, QLinearConv and quantized Conv nodes become
// it. No derivative.
#include <algorithm>
#include <memory>

#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/integer_conv.h"
#include "kernels/conv/primitives/int8_conv_primitive.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/quantize/requantize.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t first_scale = 5;

void infer(InferContext& context) {
  const Dim channels = context.ranked(2) && context.rank(2) > 0 ? context.dims(2)[0] : Dim();
  check_conv_parameter(context, 1, 1, "the zero point of x");
  check_conv_parameter(context, 3, channels, "the zero point of w");
  if (context.has_input(4)) unify(dims_of_rank(context, 4, 1, "B")[0], channels, "output channels");
  check_conv_parameter(context, first_scale, 1, "the scale of x");
  check_conv_parameter(context, first_scale + 1, channels, "the scale of w");
  check_conv_parameter(context, first_scale + 2, 1, "the scale of y");
  check_conv_parameter(context, first_scale + 3, 1, "the zero point of y");
  infer_integer_conv(context, 2, context.has_input(8) ? context.dtype(8) : DType::int32);
}

// Whether the zero points of w are constants, and 0 of the elements as signed numbers.
bool is_symmetric(const BindContext& context) {
  const bool is_unsigned = context.dtype(2) == DType::uint8;
  if (!context.has_input(3)) return !is_unsigned;
  const Tensor* const zeros = context.constant(3);
  if (zeros == nullptr) return false;
  const auto* const bytes = static_cast<const std::uint8_t*>(zeros->data());
  return std::all_of(bytes, bytes + zeros->size(),
                     [&](std::uint8_t z) { return z == (is_unsigned ? 128 : 0); });
}

// The constant weights as the primitive reads them.
Tensor prepared_weights(const BindContext& context, const math::Int8ConvPrimitive& primitive) {
  Tensor weights(DType::uint8, {static_cast<std::int64_t>(primitive.prepared_bytes())});
  primitive.prepare(static_cast<const std::uint8_t*>(context.constant(2)->data()),
                    static_cast<std::byte*>(weights.mutable_data()));
  return weights;
}

Kernel bind(BindContext& context) {
  Scratch scratch;
  math::Int8ConvDesc desc;
  desc.shape = conv_shape(context, context.shape(0), context.shape(2), *context.output_shape(0));
  desc.x = context.dtype(0);
  desc.w = context.dtype(2);
  desc.symmetric = is_symmetric(context);
  desc.prepared = desc.symmetric && context.constant(2) != nullptr;
  const ZeroPoints zx(context, scratch, 1, desc.x, false);
  const ZeroPoints zw(context, scratch, 3, desc.w, true);
  const Int8Epilogue epilogue(context, scratch, first_scale);
  desc.quantizes = epilogue.quantizes();
  const bool biased = context.has_input(4);
  const math::ConvShape& s = desc.shape;
  if (s.batch == 0 || s.out_channels == 0 || math::volume(s.out) == 0) return [](KernelContext&) {};
  const math::SimdTables& kernels = math::simd_tables();
  const math::Int8ConvPrimitive primitive(desc, context.threads(), kernels,
                                          *math::int8_gemm_implementations(kernels).first);
  context.set_implementation(primitive.name(), primitive.isa());
  const auto weights = std::make_shared<const Tensor>(
      desc.prepared ? prepared_weights(context, primitive) : Tensor());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    const math::Int8ConvArgs args{
        .x = call.in<std::uint8_t>(0),
        .w = call.in<std::uint8_t>(2),
        .zx = zx.read(call)[0],
        .zw = zw.read(call),
        .zw_count = zw.count(),
        .bias = biased ? call.in<std::int32_t>(4) : nullptr,
        .epilogue = epilogue.read(call),
        .y = call.out<void>(0),
        .prepared = static_cast<const std::byte*>(weights->defined() ? weights->data() : nullptr)};
    primitive.run(call.pool(), args, {Scratch::at<std::byte>(call, work), bytes});
  };
}

std::vector<Val> expand(ExpandContext& context) {
  const DType compute = DType::float64;
  const Val x = context.x(0);
  const Val w = context.x(2);
  const Val bias = context.x(4);
  if (!w.ranked()) fail(ErrorCode::unsupported, "an integer convolution needs a known rank of w");
  Attributes attributes = context.node().attributes;
  std::erase_if(attributes, [](const Attribute& each) { return each.name == "activation"; });
  // Sums are exact in double.
  const Val sums =
      context.builder().node("Conv",
                             {centred(x, context.x(1), compute),
                              centred(w, over_channels(context.x(3), w.rank() - 1), compute),
                              bias ? graph::cast(bias, compute) : Val()},
                             std::move(attributes));
  if (!context.x(first_scale)) return {graph::cast(sums, DType::int32)};
  const Val scale = graph::cast(context.x(5), compute) *
                    graph::cast(over_channels(context.x(6), w.rank() - 2), compute);
  return {requantize(sums, scale, context.x(7), context.x(8), fused_activation(context))};
}

}  // namespace

extern const OpDef int8_conv{.name = "Int8Conv",
                             .domain = ondine_domain,
                             .infer = infer,
                             .bind = bind,
                             .expand = expand,
                             .no_gradient = any_input};

}  // namespace ondine::kernels::ops
