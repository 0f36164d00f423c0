#include "kernels/common/window/window_nodes.h"

#include <algorithm>
#include <numeric>

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

using Ints = std::vector<std::int64_t>;

Ints each(const Window& window, std::int64_t WindowAxis::*member) {
  Ints values;
  for (const WindowAxis& axis : window.axes) values.push_back(axis.*member);
  return values;
}

Ints joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Without kernel_shape where the kernel has a dim of 0: the weights tell it.
Attributes attributes_of(const Window& window, std::int64_t group) {
  Attributes attributes;
  const Ints kernel = each(window, &WindowAxis::kernel);
  if (std::find(kernel.begin(), kernel.end(), 0) == kernel.end()) {
    attributes.emplace_back("kernel_shape", kernel);
  }
  attributes.emplace_back("strides", each(window, &WindowAxis::stride));
  attributes.emplace_back("dilations", each(window, &WindowAxis::dilation));
  attributes.emplace_back("pads",
                          joined(each(window, &WindowAxis::begin), each(window, &WindowAxis::end)));
  attributes.emplace_back("group", group);
  return attributes;
}

Ints spatial_axes(std::size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

// Channels and batch exchanged: [N, g C, ...] becomes [C, g N, ...].
Val channels_first(Val x, std::size_t rank, std::int64_t group) {
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (group == 1) {
    std::swap(perm[0], perm[1]);
    return transpose(x, perm);
  }
  Builder& b = x.builder();
  const Val shape = shape_of(x);
  const Val rest = slice(shape, 2, INT64_MAX, 0);
  const Val channels = slice(shape, 1, 2, 0) / b.int64(group);
  const Val batch = slice(shape, 0, 1, 0);
  const Val apart[] = {batch, b.int64s({group}), channels, rest};
  Ints order{2, 1, 0};
  for (std::size_t i = 2; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i) + 1);
  const Val together[] = {channels, batch * b.int64(group), rest};
  return reshape(transpose(reshape(x, concat(apart, 0)), order), concat(together, 0));
}

Val first_two_swapped(Val x, std::size_t rank) {
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[1]);
  return transpose(x, perm);
}

}  // namespace

Ints kernel_dims(const Type& w) {
  Ints kernel;
  for (std::size_t i = 2; w.ranked() && i < w.rank(); ++i) {
    if (!(*w.dims)[i].known()) break;
    kernel.push_back((*w.dims)[i].size());
  }
  if (!w.ranked() || kernel.size() + 2 != w.rank()) {
    fail(ErrorCode::unsupported, "the derivative of a convolution needs known kernel dims");
  }
  return kernel;
}

Dims spatial_part(const Type& type, std::size_t axes) {
  if (!type.ranked() || type.rank() != axes + 2) return Dims(axes);
  return {type.dims->begin() + 2, type.dims->end()};
}

Val spatial_sizes(Val shape) { return slice(shape, 2, INT64_MAX, 0); }

namespace {

// Sums and quotients of vectors of sizes, for paddings that only a run knows.
struct RunWindow {
  RunWindow(Builder& b, const Window& window)
      : stride(b.int64s(each(window, &WindowAxis::stride))), one(b.int64(1)), zero(b.int64(0)) {
    Ints spans;
    for (const WindowAxis& axis : window.axes) spans.push_back(axis.span());
    span = b.int64s(spans);
  }

  // What `out` windows cover.
  Val reach(Val out) const { return (out - one) * stride + span; }
  // size / stride, rounded up.
  Val steps(Val size) const { return (size + stride - one) / stride; }

  Val stride, span, one, zero;
};

PaddedWindow without_padding(Window window) {
  window.auto_pad = AutoPad::notset;
  window.ceil = false;
  for (WindowAxis& axis : window.axes) axis.begin = axis.end = 0;
  return {std::move(window), {}, {}};
}

// `total` is halved; an odd element goes to the end where `upper`.
PaddedWindow with_total(const Window& window, Val total, bool upper) {
  const Val half = total / total.builder().int64(2);
  PaddedWindow result = without_padding(window);
  result.begin = upper ? half : total - half;
  result.end = total - result.begin;
  return result;
}

// As `resolve` does it.
PaddedWindow window_of_run(const Window& window, Val in) {
  Builder& b = in.builder();
  const RunWindow run(b, window);
  if (window.auto_pad != AutoPad::notset) {
    const Val total = maximum(run.reach(run.steps(in)) - in, run.zero);
    return with_total(window, total, window.auto_pad == AutoPad::same_upper);
  }
  PaddedWindow result = without_padding(window);
  result.begin = b.int64s(each(window, &WindowAxis::begin));
  const Val end = b.int64s(each(window, &WindowAxis::end));
  const Val begun = in + result.begin;
  const Val rest = begun + end - run.span;
  // No window starts in the padding at the end, but for those that the padding has room for.
  const Val started = minimum(run.steps(rest) + run.one, run.steps(begun));
  const Val out = maximum(rest / run.stride + run.one, started);
  result.end = maximum(end, run.reach(out) - begun);
  return result;
}

// Whether the padding follows from dims that are not known. With steps of 1 it is always the same.
bool follows_from_dims(const Window& window, std::span<const Dim> in) {
  if (window.auto_pad == AutoPad::valid) return false;
  if (window.auto_pad == AutoPad::notset && !window.ceil) return false;
  for (std::size_t i = 0; i < window.axes.size(); ++i) {
    if (!in[i].known() && window.axes[i].stride != 1) return true;
  }
  return false;
}

}  // namespace

PaddedWindow resolved_window(const NodeView& node, std::span<const std::int64_t> kernel,
                             std::span<const Dim> in, Val shape) {
  Window window = read_window(node, kernel);
  if (follows_from_dims(window, in)) return window_of_run(window, spatial_sizes(shape));
  for (std::size_t i = 0; i < window.axes.size(); ++i) {
    WindowAxis& axis = window.axes[i];
    if (!in[i].known() && window.auto_pad == AutoPad::notset) continue;
    const std::int64_t size = in[i].known() ? in[i].size() : axis.span();
    const std::int64_t out = resolve(axis, size, window.auto_pad, window.ceil);
    // The last window may reach beyond the padding; it reads zeros there.
    const std::int64_t reach = (out - 1) * axis.stride + axis.span();
    axis.end = std::max(axis.end, reach - size - axis.begin);
  }
  window.auto_pad = AutoPad::notset;
  window.ceil = false;
  return {std::move(window), {}, {}};
}

PaddedWindow transposed_window(const NodeView& node, std::span<const std::int64_t> kernel,
                               Val x_shape, Val y_shape) {
  const Window window = read_window(node, kernel);
  Builder& b = x_shape.builder();
  const RunWindow run(b, window);
  Val full = run.reach(spatial_sizes(x_shape));
  if (node.has_attr("output_padding")) full = full + b.int64s(node.attr_ints("output_padding"));
  const Val total = maximum(full - spatial_sizes(y_shape), run.zero);
  return with_total(window, total, window.auto_pad == AutoPad::same_upper);
}

Val begin_of(const PaddedWindow& window, Builder& builder) {
  return window.begin ? window.begin : builder.int64s(each(window.window, &WindowAxis::begin));
}
Val end_of(const PaddedWindow& window, Builder& builder) {
  return window.end ? window.end : builder.int64s(each(window.window, &WindowAxis::end));
}

Val pad_spatial(Val x, std::size_t axes, Val begin, Val end, double value) {
  Builder& b = x.builder();
  const Val pads[] = {begin, end};
  return b.node("Pad", {x, concat(pads, 0), value == 0 ? Val() : scalar_like(x, value),
                        b.int64s(spatial_axes(axes))});
}

namespace {

Val padded(Val x, const PaddedWindow& window) {
  if (!window.begin) return x;
  return pad_spatial(x, window.window.axes.size(), window.begin, window.end);
}

}  // namespace

Val conv_node(Val x, Val w, const PaddedWindow& window, std::int64_t group) {
  return x.builder().node("Conv", {padded(x, window), w}, attributes_of(window.window, group));
}

Val cut_spatial(Val x, Val shape, const Dims& dims) {
  const std::size_t axes = dims.size();
  const Dims have = spatial_part(x.type(), axes);
  const bool fits = std::equal(have.begin(), have.end(), dims.begin(),
                               [](Dim a, Dim b) { return a.known() && a.same(b); });
  if (fits) return x;
  Builder& b = x.builder();
  return b.node("Slice",
                {x, b.int64s(Ints(axes)), spatial_sizes(shape), b.int64s(spatial_axes(axes))});
}

Val adjoint_conv_node(Val dy, Val w, const PaddedWindow& window, std::int64_t group, Val shape,
                      const Dims& in) {
  Builder& b = dy.builder();
  const std::size_t axes = window.window.axes.size();
  const Dims out = spatial_part(dy.type(), axes);
  Window exact = window.window;
  Ints more(axes);
  if (!window.begin && to_shape(in) && to_shape(out)) {
    for (std::size_t i = 0; i < axes; ++i) {
      WindowAxis& axis = exact.axes[i];
      const std::int64_t full = (out[i].size() - 1) * axis.stride + axis.span();
      const std::int64_t beyond = full - axis.begin - in[i].size();
      axis.end = std::max<std::int64_t>(0, beyond);
      more[i] = std::max<std::int64_t>(0, -beyond);
    }
    Attributes attributes = attributes_of(exact, group);
    attributes.emplace_back("output_padding", more);
    return b.node("ConvTranspose", {dy, w}, std::move(attributes));
  }
  for (WindowAxis& axis : exact.axes) axis.begin = axis.end = 0;
  const Val full = b.node("ConvTranspose", {dy, w}, attributes_of(exact, group));
  const Val size = spatial_sizes(shape);
  const Val begin = begin_of(window, b);
  const Val part = b.node("Slice", {full, begin, begin + size, b.int64s(spatial_axes(axes))});
  const Val missing = size - spatial_sizes(unary("Shape", part));
  return pad_spatial(part, axes, b.int64s(Ints(axes)), missing);
}

Val conv_weight_node(Val x, Val dy, const PaddedWindow& window, std::int64_t group) {
  x = padded(x, window);
  const std::size_t axes = window.window.axes.size();
  const Dims in = spatial_part(x.type(), axes);
  const Dims out = spatial_part(dy.type(), axes);
  // Positions of the window become offsets in the kernel, and the other way round.
  Window turned;
  Ints kernel;
  for (std::size_t i = 0; i < axes; ++i) {
    const WindowAxis& axis = window.window.axes[i];
    WindowAxis& to = turned.axes.emplace_back();
    to.kernel = out[i].known() ? out[i].size() : 0;
    to.stride = axis.dilation;
    to.dilation = axis.stride;
    to.begin = axis.begin;
    to.end = axis.end;
    kernel.push_back(axis.kernel);
    if (!in[i].known() || !out[i].known()) continue;
    const std::int64_t needed =
        (axis.kernel - 1) * axis.dilation + (out[i].size() - 1) * axis.stride + 1;
    to.end = std::max<std::int64_t>(0, needed - in[i].size() - axis.begin);
  }
  const std::size_t rank = axes + 2;
  const Val dw = conv_node(channels_first(x, rank, group), first_two_swapped(dy, rank),
                           {turned, {}, {}}, group);
  Dims dims;
  for (const std::int64_t size : kernel) dims.emplace_back(size);
  const Val shape = x.builder().int64s(joined({0, 0}, kernel));
  return first_two_swapped(cut_spatial(dw, shape, dims), rank);
}

}  // namespace ondine::kernels
