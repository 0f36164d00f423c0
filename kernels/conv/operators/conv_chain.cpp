// ConvChain (ai.ondine), a result of fuse_pointwise: a pointwise convolution, the depthwise
// convolution of its result and the pointwise convolution of that. One of the pointwise ones may be
// absent. No result between is stored.
//   (x, pointwise weights, B, depthwise weights, B, weights of the last convolution, B) -> y;
//   biases are optional
// Attributes: those of the depthwise Conv; `activation` of y and, before a last convolution,
// `depthwise_activation`, Relu or Relu6; and `inner_activation` of the first result: Relu, Relu6,
// HardSwish or Swish, the latter by `inner_alpha`.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/primitives/inverted_bottleneck.h"
#include "kernels/conv/primitives/pointwise_depthwise.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  x_in,
  pointwise_in,
  inner_bias_in,
  depthwise_in,
  bias_in,
  last_in,
  last_bias_in
};

bool is_other_than_one(Dim dim) { return dim.known() && dim.size() != 1; }

// Rejects weights of other windows than one element.
void require_pointwise(InferContext& context, const Dims& weights, std::string_view what) {
  if (weights.size() == 4 && !is_other_than_one(weights[2]) && !is_other_than_one(weights[3])) {
    return;
  }
  context.reject(what, " weights have shape ", graph::to_string(weights),
                 ", expected [channels, channels of x, 1, 1]");
}

// An input `i`, if there is one, has a value for each channel.
void require_bias(InferContext& context, std::size_t i, Dim channels, std::string_view what) {
  if (context.has_input(i)) unify(dims_of_rank(context, i, 1, "B")[0], channels, what);
}

// Dims of the depthwise results, if those of the inputs are known.
std::optional<Dims> depthwise_dims(InferContext& context) {
  std::optional<Dims> z = dims_if_ranked(context, x_in);
  if (z && z->size() != 4) context.reject("x has rank ", z->size(), ", expected 4");
  Dim channels;
  if (!context.has_input(pointwise_in)) {
    if (z) channels = (*z)[1];
  } else if (const auto pointwise = dims_if_ranked(context, pointwise_in)) {
    require_pointwise(context, *pointwise, "pointwise");
    channels = (*pointwise)[0];
    if (z) unify((*z)[1], (*pointwise)[1], "channels of x and of the pointwise weights");
  }
  if (z) (*z)[1] = channels;
  const auto y = conv_dims(context, z, dims_if_ranked(context, depthwise_in));
  require_bias(context, inner_bias_in, channels, "numbers of channels of the first B and W");
  if (y) require_bias(context, bias_in, (*y)[1], "numbers of channels of the second B and W");
  return y;
}

void infer(InferContext& context) {
  require_same_dtype(
      context, {x_in, pointwise_in, inner_bias_in, depthwise_in, bias_in, last_in, last_bias_in});
  if (!context.has_input(pointwise_in) && !context.has_input(last_in)) {
    context.reject("the weights of both pointwise convolutions are missing");
  }
  std::optional<Dims> y = depthwise_dims(context);
  if (context.has_input(last_in)) {
    Dim channels;
    if (const auto weights = dims_if_ranked(context, last_in)) {
      require_pointwise(context, *weights, "last");
      channels = (*weights)[0];
      if (y) unify((*y)[1], (*weights)[1], "channels of the depthwise and of the last weights");
    }
    if (y) (*y)[1] = channels;
    require_bias(context, last_bias_in, channels, "numbers of channels of the last B and W");
  }
  context.set_output(0, context.dtype(x_in), y);
}

// How operands are stored is not set. Without pointwise weights in_channels is 0.
math::PointwiseDepthwiseDesc inner_descriptor(const BindContext& context) {
  const bool has_last = context.has_input(last_in);
  Shape z = context.shape(x_in), results = *context.output_shape(0);
  if (has_last) results[1] = context.shape(last_in)[1];
  math::PointwiseDepthwiseDesc desc;
  desc.in_channels = 0;
  if (context.has_input(pointwise_in)) {
    const Shape weights = context.shape(pointwise_in);
    z[1] = weights[0];
    desc.in_channels = weights[1];
  }
  desc.shape = conv_shape(context, z, context.shape(depthwise_in), results);
  desc.inner = named_activation(context, "inner_activation");
  desc.alpha = static_cast<double>(context.attr_float("inner_alpha", 1.0F));
  desc.activation = fused_activation(context, has_last ? "depthwise_activation" : "activation");
  return desc;
}

math::InvertedBottleneckDesc descriptor(const BindContext& context) {
  math::InvertedBottleneckDesc desc;
  desc.inner = inner_descriptor(context);
  desc.out_channels = (*context.output_shape(0))[1];
  desc.activation = fused_activation(context);
  return desc;
}

// Operands that the primitive of a node takes in bfloat16, and whether it writes y so.
struct Rounding {
  bool expansion = false;  // its factors, which it rounds
  bool x = false;
  bool last = false;  // its weights, which it rounds
  bool y = false;
};

template <class C>
Rounding rounding_of(const BindContext& context) {
  const math::SimdTables& kernels = product_kernels(context);
  if (!context.has_input(last_in)) {
    const bool rounds =
        math::PointwiseDepthwise<C>(inner_descriptor(context), 1, kernels).rounds_factors();
    return {.expansion = rounds, .x = rounds, .y = rounds};
  }
  const math::InvertedBottleneck<C> full(descriptor(context), 1, kernels);
  return {full.rounds_expansion(), full.reads_x(), full.rounds_projection(), full.rounds_result()};
}

RoundedInputs rounded_inputs(const BindContext& context) {
  if (!may_round(context.dtype(x_in))) return {};
  const Rounding rounding = rounding_of<float>(context);
  std::uint32_t factors = 0;
  if (rounding.expansion) factors |= 1U << x_in | 1U << pointwise_in;
  if (rounding.last) factors |= 1U << last_in;
  return {factors, rounding.x ? factors | 1U << x_in : factors};
}

RoundedResult rounded_result(const BindContext& context) {
  const bool rounds = may_round(context.dtype(x_in)) && rounding_of<float>(context).y;
  return rounds ? RoundedResult::where_read : RoundedResult::never;
}

// Inputs up to the depthwise results: x and the pointwise weights as they are stored, if the
// primitive reads bfloat16.
template <class C>
class InnerInputs {
 public:
  InnerInputs(const BindContext& context, Scratch& scratch, const Rounding& rounding)
      : x_(context, scratch, x_in, rounding.x),
        pointwise_(context, scratch, pointwise_in, rounding.expansion),
        inner_bias_(context, scratch, inner_bias_in),
        depthwise_(context, scratch, depthwise_in),
        bias_(context, scratch, bias_in) {}

  void set_stored(math::PointwiseDepthwiseDesc& desc) const {
    desc.x_stored = x_.storage();
    desc.pointwise_stored = pointwise_.storage();
  }
  math::PointwiseDepthwiseArgs<C> operator()(KernelContext& call) const {
    return {.x = x_(call),
            .pointwise = pointwise_(call),
            .inner_bias = inner_bias_(call),
            .depthwise = depthwise_(call),
            .bias = bias_(call)};
  }

 private:
  StoredIn<C> x_, pointwise_;
  ComputeIn<C> inner_bias_, depthwise_, bias_;
};

template <class C>
Kernel bind_as(BindContext& context) {
  const Rounding rounding = rounding_of<C>(context);
  math::InvertedBottleneckDesc desc = descriptor(context);
  Scratch scratch;
  const InnerInputs<C> inputs(context, scratch, rounding);
  const StoredIn<C> last(context, scratch, last_in, rounding.last);
  const ComputeIn<C> last_bias(context, scratch, last_bias_in);
  const StoredOut<C> y(context, scratch, 0, context.output_shape(0)->size(), rounding.y);
  inputs.set_stored(desc.inner);
  desc.projection_stored = last.storage();
  desc.inner.y_stored = desc.y_stored = y.storage();
  // `args` makes those of the primitive of a call.
  const auto run = [&](const auto& primitive, const auto& args) -> Kernel {
    context.set_implementation(primitive.name(), primitive.isa());
    const std::size_t bytes = primitive.workspace();
    const std::size_t work = scratch.add_bytes(bytes);
    scratch.request(context);
    return [=, y = y](KernelContext& call) {
      primitive.run(call.pool(), args(call), {Scratch::at<std::byte>(call, work), bytes});
      y.store(call);
    };
  };
  const int threads = context.threads();
  const math::SimdTables& kernels = product_kernels(context);
  if (!context.has_input(last_in)) {
    return run(math::PointwiseDepthwise<C>(desc.inner, threads, kernels), [=](KernelContext& call) {
      math::PointwiseDepthwiseArgs<C> args = inputs(call);
      args.y = y(call);
      return args;
    });
  }
  return run(math::InvertedBottleneck<C>(desc, threads, kernels), [=](KernelContext& call) {
    return math::InvertedBottleneckArgs<C>{.inner = inputs(call),
                                           .projection = last(call),
                                           .projection_bias = last_bias(call),
                                           .y = y(call)};
  });
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(x_in),
                       [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  Val y = context.x(x_in);
  if (context.has_input(pointwise_in)) {
    y = b.node("Conv", {y, context.x(pointwise_in), context.x(inner_bias_in)});
    y = activated(context, y, named_activation(context, "inner_activation"),
                  context.attr_float("inner_alpha", 1.0F));
  }
  y = b.node("Conv", {y, context.x(depthwise_in), context.x(bias_in)},
             convolution_attributes(context));
  if (context.has_input(last_in)) {
    y = activated(context, y, fused_activation(context, "depthwise_activation"));
    y = b.node("Conv", {y, context.x(last_in), context.x(last_bias_in)});
  }
  return {activated(context, y, fused_activation(context))};
}

}  // namespace

extern const OpDef conv_chain{.name = "ConvChain",
                              .domain = ondine_domain,
                              .infer = infer,
                              .bind = bind,
                              .grad = grad_of_expansion,
                              .expand = expand,
                              .traits = {.per_sample = 1},
                              .rounded = {.inputs = rounded_inputs, .result = rounded_result}};

}  // namespace ondine::kernels::ops
