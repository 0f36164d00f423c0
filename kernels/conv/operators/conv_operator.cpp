#include "kernels/conv/operators/conv_operator.h"

#include <algorithm>

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/common/window/window_nodes.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/primitives/conv_primitive.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels::ops {
namespace {

// Which operand of y = P(x, w) a node computes from the other two.
enum class Operand : std::uint8_t { y, x, w };

math::ConvDirection direction_of(Operand result, bool transposed) {
  if (result == Operand::w) return math::ConvDirection::backward_weights;
  return (result == Operand::y) != transposed ? math::ConvDirection::forward
                                              : math::ConvDirection::backward_data;
}

// Rounding by a forward convolution from input 0 to output 0; none by gradients.
template <class C>
math::ConvRounding rounding_of(const BindContext& context, const math::ConvDesc& desc) {
  if (desc.direction != math::ConvDirection::forward) return {};
  return math::ConvPrimitive<C>::make(desc, 1, product_kernels(context)).rounding();
}

template <class C>
Kernel bind_as(BindContext& context, math::ConvDesc desc, Operand result) {
  Scratch scratch;
  const bool has_bf16 = context.dtype(0) == DType::bfloat16 ||
                        context.dtype(1) == DType::bfloat16 ||
                        context.output_dtype(0) == DType::bfloat16;
  const auto rounding = has_bf16 ? rounding_of<C>(context, desc) : math::ConvRounding();
  const StoredIn<C> first(context, scratch, 0, rounding.reads_x);
  const StoredIn<C> second(context, scratch, 1, rounding.rounds_factors);
  std::optional<ComputeIn<C>> bias;
  if (result == Operand::y) bias.emplace(context, scratch, 2);
  const StoredOut<C> out(context, scratch, 0, context.output_shape(0)->size(), rounding.writes_y);
  desc.x_stored = first.storage();
  desc.w_stored = second.storage();
  desc.y_stored = out.storage();
  const auto primitive =
      math::ConvPrimitive<C>::make(desc, context.threads(), product_kernels(context));
  context.set_implementation(primitive.name(), primitive.isa());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  // The output of the underlying convolution is the x of the transposed one.
  const bool swapped = result == Operand::w && is_transposed_conv(context);
  const math::ConvDirection direction = desc.direction;
  return [=](KernelContext& call) {
    math::ConvArgs<C> args;
    const math::Elements<const C> a = first(call);
    const math::Elements<const C> b = second(call);
    switch (direction) {
      case math::ConvDirection::forward:
        args.x = a;
        args.w = b;
        break;
      case math::ConvDirection::backward_data:
        args.dy = a.plain();
        args.w = b;
        break;
      case math::ConvDirection::backward_weights:
        args.x = swapped ? b : a;
        args.dy = (swapped ? a : b).plain();
        break;
    }
    args.bias = bias ? (*bias)(call) : nullptr;
    args.result = out(call);
    primitive.run(call.pool(), args, {Scratch::at<std::byte>(call, work), bytes});
    out.store(call);
  };
}

math::ConvDesc descriptor(const BindContext& context, Operand result) {
  const Shape out = *context.output_shape(0);
  const Shape first = context.shape(0);
  const Shape second = context.shape(1);
  math::ConvDesc desc;
  desc.shape = result == Operand::y   ? conv_shape(context, first, second, out)
               : result == Operand::x ? conv_shape(context, out, second, first)
                                      : conv_shape(context, first, out, second);
  desc.direction = direction_of(result, is_transposed_conv(context));
  if (desc.direction == math::ConvDirection::forward) desc.activation = fused_activation(context);
  return desc;
}

Kernel bind_operand(BindContext& context, Operand result) {
  const math::ConvDesc desc = descriptor(context, result);
  return visit_compute(context.dtype(0),
                       [&]<class C>() -> Kernel { return bind_as<C>(context, desc, result); });
}

// (dy, w, shape of x) or (x, dy, shape of w).
void infer_gradient(InferContext& context, Operand of) {
  require_same_dtype(context, {0, 1});
  const auto result = dims_from_input(context, 2);
  const auto first = dims_if_ranked(context, 0);
  const auto second = dims_if_ranked(context, 1);
  const auto y =
      of == Operand::x ? conv_dims(context, result, second) : conv_dims(context, first, result);
  const auto& dy = of == Operand::x ? first : second;
  if (y && dy &&
      !compatible(Type::tensor(context.dtype(0), *y), Type::tensor(context.dtype(0), *dy))) {
    context.reject("dy has shape ", graph::to_string(*dy), ", expected ", graph::to_string(*y));
  }
  context.set_output(0, context.dtype(0), result);
}

std::string_view prefix(const NodeView& node) {
  return is_transposed_conv(node) ? "ConvTranspose" : "Conv";
}
Val forward_node(GradContext& g, Val x, Val w) {
  return g.builder().node(prefix(g), {x, w}, g.node().attributes);
}
Val input_node(GradContext& g, Val dy, Val w, Val x) {
  return g.builder().node(cat(prefix(g), "GradInput"), {dy, w, graph::shape_of(x)},
                          g.node().attributes, ondine_domain);
}
Val weight_node(GradContext& g, Val x, Val dy, Val w) {
  return g.builder().node(cat(prefix(g), "GradWeight"), {x, dy, graph::shape_of(w)},
                          g.node().attributes, ondine_domain);
}

// The sum over all axes but that of the channels.
Val bias_gradient(Val dy, Val x, Val w) {
  const auto ranked = {dy, x, w};  // all have one rank
  const auto known =
      std::find_if(ranked.begin(), ranked.end(), [](const Val& value) { return value.ranked(); });
  if (known == ranked.end()) {
    return graph::reduce_sum(graph::reshape(dy, {0, 0, -1}), {0, 2}, false);
  }
  std::vector<std::int64_t> axes{0};
  for (std::size_t i = 2; i < known->rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return graph::reduce_sum(dy, axes, false);
}

// Dims of y as far as the rank of w tells them, if the rank of x is unknown.
std::optional<Dims> dims_of_rank_of_w(const InferContext& context) {
  if (!context.ranked(1) || context.rank(1) < 3) return std::nullopt;
  Dims dims(context.rank(1));
  if (!is_transposed_conv(context)) dims[1] = context.dims(1)[0];
  return dims;
}

}  // namespace

void infer_conv(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  auto y = conv_dims(context, dims_if_ranked(context, 0), dims_if_ranked(context, 1));
  if (!y) y = dims_of_rank_of_w(context);
  if (context.has_input(2)) {
    const Dims bias = dims_of_rank(context, 2, 1, "B");
    if (y) unify(bias[0], (*y)[1], "numbers of output channels of B and W");
  }
  context.set_output(0, context.dtype(0), y);
}
void infer_conv_grad_input(InferContext& context) { infer_gradient(context, Operand::x); }
void infer_conv_grad_weight(InferContext& context) { infer_gradient(context, Operand::w); }

Kernel bind_conv(BindContext& context) { return bind_operand(context, Operand::y); }
Kernel bind_conv_grad_input(BindContext& context) { return bind_operand(context, Operand::x); }
Kernel bind_conv_grad_weight(BindContext& context) { return bind_operand(context, Operand::w); }

namespace {

// Rounding by a node of y in float32 or bfloat16 whose products round their factors; none by
// others.
math::ConvRounding conv_rounding(const BindContext& context) {
  if (!may_round(context.dtype(0)) || !math::rounds_products(product_kernels(context))) {
    return {};
  }
  return rounding_of<float>(context, descriptor(context, Operand::y));
}

}  // namespace

graph::RoundedInputs rounded_conv_inputs(const BindContext& context) {
  const math::ConvRounding rounding = conv_rounding(context);
  if (rounding.rounds_factors) return {0b11, 0b11};
  return {rounding.reads_x ? 1U : 0U, 0};
}
graph::RoundedResult rounded_conv_result(const BindContext& context) {
  return conv_rounding(context).writes_y ? graph::RoundedResult::where_read
                                         : graph::RoundedResult::never;
}

std::vector<Val> grad_of_conv(GradContext& g) {
  const Val x = g.x(0);
  const Val w = g.x(1);
  const Val dy = g.dy(0);
  std::vector<Val> result(3);
  if (g.wants(0)) result[0] = input_node(g, dy, w, x);
  if (g.wants(1)) result[1] = weight_node(g, x, dy, w);
  if (g.wants(2) && g.x(2)) {
    result[2] = bias_gradient(dy, x, w);
  }
  return result;
}

// v stands for the derivative of the result.
std::vector<Val> grad_of_conv_grad_input(GradContext& g) {
  const Val v = g.dy(0);
  std::vector<Val> result(2);
  if (g.wants(0)) result[0] = forward_node(g, v, g.x(1));
  if (g.wants(1)) result[1] = weight_node(g, v, g.x(0), g.x(1));
  return result;
}

std::vector<Val> grad_of_conv_grad_weight(GradContext& g) {
  const Val v = g.dy(0);
  std::vector<Val> result(2);
  if (g.wants(0)) result[0] = input_node(g, g.x(1), v, g.x(0));
  if (g.wants(1)) result[1] = forward_node(g, g.x(0), v);
  return result;
}

namespace {

// The padding of a transposed convolution with auto_pad or output_shape along spatial axis i.
std::int64_t transposed_begin(const NodeView& node, std::span<const std::int64_t> kernel,
                              const Dims& x, const Dims& y, std::size_t i) {
  const auto whole = [](const auto& dims, const auto& size) {
    Shape s{1, 1};
    for (const auto& dim : dims) s.push_back(size(dim));
    return s;
  };
  const auto size = [](Dim dim) { return dim.size(); };
  const Shape weights = whole(kernel, [](std::int64_t k) { return k; });
  return conv_shape(node, whole(x, size), weights, whole(y, size)).pad[3 - kernel.size() + i];
}

// The window of y = Conv(x), or of the convolution from y to x for ConvTranspose.
PaddedWindow window_of(const NodeView& node, std::span<const std::int64_t> kernel, const Dims& x,
                       const Dims& y, Val x_shape, Val y_shape) {
  if (!is_transposed_conv(node)) return resolved_window(node, kernel, x, x_shape);
  Window window = read_window(node, kernel);
  const bool follows = window.auto_pad != AutoPad::notset || node.has_attr("output_shape");
  if (follows && !(to_shape(x) && to_shape(y))) {
    return transposed_window(node, kernel, x_shape, y_shape);
  }
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    WindowAxis& axis = window.axes[i];
    if (follows) axis.begin = transposed_begin(node, kernel, x, y, i);
    if (x[i].known() && y[i].known()) {
      const std::int64_t reach = (x[i].size() - 1) * axis.stride + axis.span();
      axis.end = std::max<std::int64_t>(0, reach - axis.begin - y[i].size());
    }
  }
  return {std::move(window), {}, {}};
}

}  // namespace

// (dy, w, shape of x)
std::vector<Val> expand_conv_grad_input(ExpandContext& context) {
  const Val dy = context.x(0);
  const Val w = context.x(1);
  const Val shape = context.x(2);
  const auto kernel = kernel_dims(w.type());
  const Dims x = spatial_part(result_type(context), kernel.size());
  const Dims y = spatial_part(dy.type(), kernel.size());
  const PaddedWindow window = window_of(context, kernel, x, y, shape, graph::shape_of(dy));
  const std::int64_t group = context.attr_int("group", 1);
  if (!is_transposed_conv(context)) {
    return {adjoint_conv_node(dy, w, window, group, shape, x)};
  }
  return {cut_spatial(conv_node(dy, w, window, group), shape, x)};
}

// (x, dy, shape of w). A transposed convolution exchanges x and dy.
std::vector<Val> expand_conv_grad_weight(ExpandContext& context) {
  const Type w = result_type(context);
  const auto kernel = kernel_dims(w);
  const Val x = context.x(0);
  const Val dy = context.x(1);
  const PaddedWindow window =
      window_of(context, kernel, spatial_part(x.type(), kernel.size()),
                spatial_part(dy.type(), kernel.size()), graph::shape_of(x), graph::shape_of(dy));
  const std::int64_t group = context.attr_int("group", 1);
  const bool transposed = is_transposed_conv(context);
  const Val dw = conv_weight_node(transposed ? dy : x, transposed ? x : dy, window, group);
  // Dims that follow from none of the operands'.
  return {w.shape() && !dw.type().shape() ? graph::reshape(dw, context.x(2)) : dw};
}

}  // namespace ondine::kernels::ops
