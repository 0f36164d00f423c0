// conv.cpp — y[o] = sum over k of w[k] x[o stride + k dilation - pad] + b, x being [N, C, ...], w
// [M, C / group, ...]; ConvTranspose is its adjoint by x, w being [C, M / group, ...]. Version 11
// changed defaults in the text alone, 22 added bfloat16.
// In ai.ondine, for P = Conv and P = ConvTranspose with P's attributes:
//   PGradInput(dy, w, shape of x) = dx,  PGradWeight(x, dy, shape of w) = dw.
// Each is linear in both operands, so the derivatives of the three are again the three.
#include "kernels/conv/conv.h"
#include "core/checked.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/sliding_window.h"
#include "kernels/conv/conv_primitive.h"
#include "kernels/matmul/fused_activation.h"

namespace ondine::kernels::ops {
namespace {

// Of P(x, w) = y: which of the three a node computes from the others.
enum class Part : std::uint8_t { y, x, w };

bool transposed(const NodeView& node) { return node.node().op->name.starts_with("ConvTranspose"); }
std::string_view prefix(const NodeView& node) {
  return transposed(node) ? "ConvTranspose" : "Conv";
}

std::int64_t groups(const NodeView& node) {
  const std::int64_t group = node.attr_int("group", 1);
  if (group < 1) fail(ErrorCode::mismatch, "group is ", group, ", must be 1 or more");
  return group;
}

// Output extent of a transposed convolution along one axis, `wanted` if that is not 0; resolves the
// padding.
std::int64_t resolve_transposed(WindowAxis& axis, std::int64_t in, std::int64_t output_padding,
                                std::int64_t wanted, AutoPad auto_pad) {
  if (in < 1) fail(ErrorCode::mismatch, "a transposed convolution over an extent of ", in);
  const std::int64_t full =
      checked_add(checked_add(checked_mul(axis.stride, in - 1), output_padding), axis.span());
  const bool same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
  if (wanted == 0 && same) wanted = checked_mul(in, axis.stride);
  if (wanted > 0) {
    const std::int64_t total = std::max<std::int64_t>(0, full - wanted);
    axis.begin = auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    axis.end = total - axis.begin;
    return wanted;
  }
  const std::int64_t out = full - checked_add(axis.begin, axis.end);
  if (out < 1) fail(ErrorCode::mismatch, "padding leaves nothing of an extent of ", full);
  return out;
}

struct Extra {
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> output_shape;  // empty: follows
};

// What only ConvTranspose has.
Extra extra(const NodeView& node, std::size_t axes) {
  Extra result{node.attr_ints("output_padding"), node.attr_ints("output_shape")};
  if (result.output_padding.empty()) result.output_padding.assign(axes, 0);
  // Some models spell batch and channels too.
  if (result.output_shape.size() == axes + 2) {
    result.output_shape.erase(result.output_shape.begin(), result.output_shape.begin() + 2);
  }
  const bool fits = result.output_padding.size() == axes &&
                    (result.output_shape.empty() || result.output_shape.size() == axes);
  if (!fits) {
    fail(ErrorCode::mismatch, "output_padding and output_shape need ", axes, " values");
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (result.output_padding[i] < 0) fail(ErrorCode::mismatch, "output_padding is negative");
    if (!result.output_shape.empty() && result.output_shape[i] < 1) {
      fail(ErrorCode::mismatch, "output_shape holds ", result.output_shape[i]);
    }
  }
  return result;
}

}  // namespace

std::optional<Dims> conv_dims(const NodeView& node, const std::optional<Dims>& x,
                              const std::optional<Dims>& w) {
  const std::int64_t group = groups(node);
  if (!x && !w) return std::nullopt;
  const std::size_t rank = x ? x->size() : w->size();
  if (rank < 3) fail(ErrorCode::mismatch, "a convolution needs rank 3 or more, found ", rank);
  if (x && w && w->size() != rank) {
    fail(ErrorCode::mismatch, "X ", to_string(*x), " and W ", to_string(*w), " differ in rank");
  }
  const std::size_t axes = rank - 2;
  require_spatial(axes);
  const Dims in = x ? *x : Dims(rank);
  const Dims weight = w ? *w : Dims(rank);

  Dims kernel(weight.begin() + 2, weight.end());
  if (const auto given = node.attr_ints("kernel_shape"); !given.empty()) {
    if (given.size() != axes) {
      fail(ErrorCode::mismatch, "kernel_shape has ", given.size(), " values for ", axes, " axes");
    }
    for (std::size_t i = 0; i < axes; ++i) {
      if (given[i] < 1) fail(ErrorCode::mismatch, "kernel extent ", given[i], " is below 1");
      kernel[i] = unify(kernel[i], given[i], "kernel extents of W and kernel_shape");
    }
  }

  const bool adjoint = transposed(node);
  const Dim channels = in[1];
  if (adjoint) {
    unify(channels, weight[0], "channels of X and W");
    if (channels.known() && channels.size() % group != 0) {
      fail(ErrorCode::mismatch, channels.size(), " channels do not divide into ", group, " groups");
    }
  } else {
    unify(channels, multiply(weight[1], group), "channels of X and of W times group");
    if (weight[0].known() && weight[0].size() % group != 0) {
      fail(ErrorCode::mismatch, weight[0].size(), " output channels do not divide into ", group,
           " groups");
    }
  }
  Dims y{in[0], adjoint ? multiply(weight[1], group) : weight[0]};

  // Open kernel extents are looked at as 1 so that the other attributes are checked in any case.
  std::vector<std::int64_t> known(axes, 1);
  for (std::size_t i = 0; i < axes; ++i) {
    if (kernel[i].known()) known[i] = kernel[i].size();
  }
  Window window = read_window(node, known);
  const Extra more = adjoint ? extra(node, axes) : Extra{};
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim extent = in[2 + i];
    if (!kernel[i].known() || (adjoint && !extent.known())) {
      const bool wanted = adjoint && !more.output_shape.empty();
      y.push_back(wanted ? Dim(more.output_shape[i]) : Dim());
    } else if (adjoint) {
      const auto wanted = more.output_shape.empty() ? 0 : more.output_shape[i];
      y.emplace_back(resolve_transposed(window.axes[i], extent.size(), more.output_padding[i],
                                        wanted, window.auto_pad));
    } else {
      y.push_back(window_extent(window.axes[i], extent, window.auto_pad, false));
    }
  }
  return y;
}

namespace {

// P as the numerics see it. All three shapes belong together (output_dims has been through them).
math::ConvShape geometry(const NodeView& node, const Shape& x, const Shape& w, const Shape& y) {
  const std::size_t axes = x.rank() - 2;
  Window window = read_window(node, w.span().subspan(2));
  const bool adjoint = transposed(node);
  const Extra more = adjoint ? extra(node, axes) : Extra{};
  // The transposed convolution exchanges input and output.
  const Shape& in = adjoint ? y : x;
  const Shape& out = adjoint ? x : y;
  math::ConvShape s{.batch = x[0],
                    .in_channels = in[1],
                    .out_channels = out[1],
                    .groups = groups(node),
                    .in = spatial_dims(in.span().subspan(2)),
                    .kernel = spatial_dims(w.span().subspan(2)),
                    .out = spatial_dims(out.span().subspan(2))};
  for (std::size_t i = 0; i < axes; ++i) {
    WindowAxis& axis = window.axes[i];
    if (adjoint) {
      const auto wanted = more.output_shape.empty() ? 0 : more.output_shape[i];
      resolve_transposed(axis, x[2 + i], more.output_padding[i], wanted, window.auto_pad);
    } else {
      resolve(axis, x[2 + i], window.auto_pad, false);
    }
    const std::size_t at = 3 - axes + i;
    s.stride[at] = axis.stride;
    s.dilation[at] = axis.dilation;
    s.pad[at] = axis.begin;
  }
  return s;
}

void fill_bias(ThreadPool& pool, auto* y, const auto* bias, std::int64_t channels,
               std::int64_t planes, std::int64_t spatial, math::Activation activation) {
  const auto value = [&](std::int64_t channel) {
    auto v = bias != nullptr ? bias[channel] : 0;
    if (activation != math::Activation::none && v < 0) v = 0;
    return activation == math::Activation::relu6 && v > 6 ? decltype(v)(6) : v;
  };
  pool.for_chunks(planes, 16, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      std::fill_n(y + i * spatial, spatial, value(i % channels));
    }
  });
}

template <class C>
Kernel bind_part(BindContext& context, const math::ConvShape& s, Part part, const Shape& result) {
  // What the numerics compute: forward, by the input or by the weights.
  const bool adjoint = transposed(context);
  const bool by_weight = part == Part::w;
  const math::Activation activation = fused_activation(context);
  const bool forward = !by_weight && (part == Part::y) != adjoint;
  Scratch scratch;
  const ComputeIn<C> first(context, scratch, 0);
  const ComputeIn<C> second(context, scratch, 1);
  std::optional<ComputeIn<C>> bias;
  if (part == Part::y) bias.emplace(context, scratch, 2);
  const ComputeOut<C> out(context, scratch, 0, result.size());
  const int threads = context.threads();
  const std::size_t bytes = by_weight ? math::conv_weight_gradient_workspace<C>(s, threads)
                            : forward ? math::conv_workspace<C>(s, threads)
                                      : math::conv_input_gradient_workspace<C>(s, threads);
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  const bool empty = context.shape(0).size() == 0 || context.shape(1).size() == 0;
  const std::int64_t channels = result[1];
  const std::int64_t spatial = result.size(2, result.rank());
  const std::int64_t planes = result[0] * result[1];
  return [=](KernelContext& call) {
    const math::Workspace workspace{Scratch::at<std::byte>(call, work), bytes};
    C* to = out.data(call);
    const C* b = bias ? (*bias)(call) : nullptr;
    ThreadPool& pool = call.pool();
    if (empty) {
      fill_bias(pool, to, b, channels, planes, spatial, activation);
    } else if (by_weight) {
      // (x, dy), the transposed convolution having its x as output.
      const C* x = first(call);
      const C* dy = second(call);
      math::conv_weight_gradient<C>(pool, s, adjoint ? dy : x, adjoint ? x : dy, to, workspace);
    } else if (forward) {
      math::conv<C>(pool, s, first(call), second(call), b, to, activation, workspace);
    } else {
      math::conv_input_gradient<C>(pool, s, first(call), second(call), b, to, workspace);
    }
    out.store(call);
  };
}

std::optional<Dims> dims_if_ranked(const InferContext& context, std::size_t i) {
  return context.ranked(i) ? std::optional(context.dims(i)) : std::nullopt;
}

}  // namespace

void infer_conv(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const auto y = conv_dims(context, dims_if_ranked(context, 0), dims_if_ranked(context, 1));
  if (context.has_input(2)) {
    const Dims bias = dims_of_rank(context, 2, 1, "B");
    if (y) unify(bias[0], (*y)[1], "numbers of output channels of B and W");
  }
  context.set_output(0, context.dtype(0), y);
}

Kernel bind_conv(BindContext& context) {
  const Shape y = *context.output_shape(0);
  const math::ConvShape s = geometry(context, context.shape(0), context.shape(1), y);
  return visit_compute(context.dtype(0),
                       [&]<class C>() -> Kernel { return bind_part<C>(context, s, Part::y, y); });
}

namespace {

// (dy, w, shape of x) or (x, dy, shape of w).
template <Part part>
void infer_part(InferContext& context) {
  require_same_dtype(context, {0, 1});
  const auto result = spelled_dims(context, 2);
  const auto first = dims_if_ranked(context, 0);
  const auto second = dims_if_ranked(context, 1);
  const auto y =
      part == Part::x ? conv_dims(context, result, second) : conv_dims(context, first, result);
  const auto& dy = part == Part::x ? first : second;
  if (y && dy &&
      !compatible(Type::tensor(context.dtype(0), *y), Type::tensor(context.dtype(0), *dy))) {
    context.reject("dy has shape ", graph::to_string(*dy), ", expected ", graph::to_string(*y));
  }
  context.set_output(0, context.dtype(0), result);
}

template <Part part>
Kernel bind_gradient(BindContext& context) {
  const Shape result = *context.output_shape(0);
  const Shape first = context.shape(0);
  const Shape second = context.shape(1);
  const math::ConvShape s = part == Part::x ? geometry(context, result, second, first)
                                            : geometry(context, first, result, second);
  return visit_compute(context.dtype(0),
                       [&]<class C>() -> Kernel { return bind_part<C>(context, s, part, result); });
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

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const Val w = g.x(1);
  const Val dy = g.dy(0);
  std::vector<Val> result(3);
  if (g.wants(0)) result[0] = input_node(g, dy, w, x);
  if (g.wants(1)) result[1] = weight_node(g, x, dy, w);
  if (g.wants(2) && g.x(2)) {
    if (!dy.ranked()) {
      fail(ErrorCode::unsupported, "the derivative of a convolution's bias needs a known rank");
    }
    std::vector<std::int64_t> axes{0};
    for (std::size_t i = 2; i < dy.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    result[2] = graph::reduce_sum(dy, axes, false);
  }
  return result;
}

// v stands for the derivative of the result.
std::vector<Val> grad_of_input(GradContext& g) {
  const Val v = g.dy(0);
  std::vector<Val> result(2);
  if (g.wants(0)) result[0] = forward_node(g, v, g.x(1));
  if (g.wants(1)) result[1] = weight_node(g, v, g.x(0), g.x(1));
  return result;
}

std::vector<Val> grad_of_weight(GradContext& g) {
  const Val v = g.dy(0);
  std::vector<Val> result(2);
  if (g.wants(0)) result[0] = input_node(g, g.x(1), v, g.x(0));
  if (g.wants(1)) result[1] = forward_node(g, g.x(0), v);
  return result;
}

constexpr OpDef forward_op(std::string_view name) {
  return {.name = name, .infer = infer_conv, .bind = bind_conv, .grad = grad};
}
constexpr OpDef input_op(std::string_view name) {
  return {.name = name,
          .domain = ondine_domain,
          .infer = infer_part<Part::x>,
          .bind = bind_gradient<Part::x>,
          .grad = grad_of_input};
}
constexpr OpDef weight_op(std::string_view name) {
  return {.name = name,
          .domain = ondine_domain,
          .infer = infer_part<Part::w>,
          .bind = bind_gradient<Part::w>,
          .grad = grad_of_weight};
}

}  // namespace

extern const OpDef conv = forward_op("Conv");
extern const OpDef conv_grad_input = input_op("ConvGradInput");
extern const OpDef conv_grad_weight = weight_op("ConvGradWeight");
extern const OpDef conv_transpose = forward_op("ConvTranspose");
extern const OpDef conv_transpose_grad_input = input_op("ConvTransposeGradInput");
extern const OpDef conv_transpose_grad_weight = weight_op("ConvTransposeGradWeight");

}  // namespace ondine::kernels::ops
