#include "kernels/conv/operators/conv_shape.h"

#include "core/checked.h"
#include "graph/contract/op_def.h"
#include "kernels/common/window/sliding_window.h"

namespace ondine::kernels::ops {

using namespace graph;  // NOLINT

namespace {

std::int64_t groups(const NodeView& node) {
  const std::int64_t group = node.attr_int("group", 1);
  if (group < 1) fail(ErrorCode::mismatch, "group is ", group, ", must be 1 or more");
  return group;
}

// Output dim of a transposed convolution along one axis, `wanted` if that is not 0; resolves the
// padding.
std::int64_t resolve_transposed(WindowAxis& axis, std::int64_t in, std::int64_t output_padding,
                                std::int64_t wanted, AutoPad auto_pad) {
  if (in < 1) fail(ErrorCode::mismatch, "a transposed convolution over a dim of ", in);
  const std::int64_t full =
      checked_add(checked_add(checked_mul(axis.stride, in - 1), output_padding), axis.span());
  const bool same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
  if (wanted == 0 && same) wanted = checked_mul(in, axis.stride);
  if (wanted > 0) {
    const std::int64_t total = std::max<std::int64_t>(0, full - wanted);
    check_length(total);
    axis.begin = auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    axis.end = total - axis.begin;
    return wanted;
  }
  const std::int64_t out = full - checked_add(axis.begin, axis.end);
  if (out < 1) fail(ErrorCode::mismatch, "padding removes all of a dim of ", full);
  return out;
}

// Attributes that only ConvTranspose has.
struct TransposedAttributes {
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> output_shape;  // empty: follows from the input
};

TransposedAttributes transposed_attributes(const NodeView& node, std::size_t axes) {
  TransposedAttributes result{node.attr_ints("output_padding"), node.attr_ints("output_shape")};
  if (result.output_padding.empty()) result.output_padding.assign(axes, 0);
  // Some models include batch and channels.
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

std::optional<Dims> dims_if_ranked(const InferContext& context, std::size_t i) {
  return context.ranked(i) ? std::optional(context.dims(i)) : std::nullopt;
}

void require_derivative(const InferContext& context, const std::optional<Dims>& y) {
  if (y && !compatible(Type::tensor(context.dtype(0), *y), context.input(0))) {
    context.reject("dy is ", graph::to_string(context.input(0)), ", expected ",
                   graph::to_string(*y));
  }
}

bool is_transposed_conv(const NodeView& node) {
  return node.node().op->name.starts_with("ConvTranspose");
}

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
      if (given[i] < 1) fail(ErrorCode::mismatch, "kernel dim ", given[i], " is below 1");
      kernel[i] = unify(kernel[i], given[i], "kernel dims of W and kernel_shape");
    }
  }

  const bool adjoint = is_transposed_conv(node);
  const Dim channels = in[1];
  if (adjoint) {
    unify(channels, weight[0], "channels of X and W");
    if (channels.known() && channels.size() % group != 0) {
      fail(ErrorCode::mismatch, channels.size(), " channels are not a multiple of ", group,
           " groups");
    }
  } else {
    unify(channels, multiply(weight[1], group), "channels of X and of W times group");
    if (weight[0].known() && weight[0].size() % group != 0) {
      fail(ErrorCode::mismatch, weight[0].size(), " output channels are not a multiple of ", group,
           " groups");
    }
  }
  Dims y{in[0], adjoint ? multiply(weight[1], group) : weight[0]};

  // Unknown kernel dims count as 1 so that the other attributes are checked in any case.
  std::vector<std::int64_t> known(axes, 1);
  for (std::size_t i = 0; i < axes; ++i) {
    if (kernel[i].known()) known[i] = kernel[i].size();
  }
  Window window = read_window(node, known);
  const TransposedAttributes more =
      adjoint ? transposed_attributes(node, axes) : TransposedAttributes{};
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim dim = in[2 + i];
    if (!kernel[i].known() || (adjoint && !dim.known())) {
      const bool wanted = adjoint && !more.output_shape.empty();
      y.push_back(wanted ? Dim(more.output_shape[i]) : Dim());
    } else if (adjoint) {
      const auto wanted = more.output_shape.empty() ? 0 : more.output_shape[i];
      y.emplace_back(resolve_transposed(window.axes[i], dim.size(), more.output_padding[i], wanted,
                                        window.auto_pad));
    } else {
      y.push_back(output_dim(window.axes[i], dim, window.auto_pad, false));
    }
  }
  return y;
}

math::ConvShape conv_shape(const NodeView& node, const Shape& x, const Shape& w, const Shape& y) {
  const std::size_t axes = x.rank() - 2;
  Window window = read_window(node, w.span().subspan(2));
  const bool adjoint = is_transposed_conv(node);
  const TransposedAttributes more =
      adjoint ? transposed_attributes(node, axes) : TransposedAttributes{};
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

}  // namespace ondine::kernels::ops
