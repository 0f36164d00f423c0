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

Attributes attributes_of(const Window& window, std::int64_t group) {
  return {{"kernel_shape", each(window, &WindowAxis::kernel)},
          {"strides", each(window, &WindowAxis::stride)},
          {"dilations", each(window, &WindowAxis::dilation)},
          {"pads", joined(each(window, &WindowAxis::begin), each(window, &WindowAxis::end))},
          {"group", group}};
}

bool all_known(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](Dim dim) { return dim.known(); });
}

Ints spatial_axes(std::size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

// Channels and batch exchanged: [N, g C, ...] becomes [C, g N, ...].
Val channels_first(Val x, std::int64_t group) {
  if (!x.ranked())
    fail(ErrorCode::unsupported, "the derivative of a convolution needs a known rank");
  Ints perm(x.rank());
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
  for (std::size_t i = 2; i < x.rank(); ++i) order.push_back(static_cast<std::int64_t>(i) + 1);
  const Val together[] = {channels, batch * b.int64(group), rest};
  return reshape(transpose(reshape(x, concat(apart, 0)), order), concat(together, 0));
}

Val first_two_swapped(Val x) {
  Ints perm(x.rank());
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

Window resolved_window(const NodeView& node, std::span<const std::int64_t> kernel,
                       std::span<const Dim> in) {
  Window window = read_window(node, kernel);
  for (std::size_t i = 0; i < window.axes.size(); ++i) {
    WindowAxis& axis = window.axes[i];
    if (in[i].known()) {
      const std::int64_t out = resolve(axis, in[i].size(), window.auto_pad, window.ceil);
      // The last window may reach beyond the padding; it reads zeros there.
      const std::int64_t reach = (out - 1) * axis.stride + axis.span();
      axis.end = std::max(axis.end, reach - in[i].size() - axis.begin);
    } else if (window.auto_pad == AutoPad::valid) {
      axis.begin = axis.end = 0;
    } else if (window.auto_pad != AutoPad::notset || window.ceil) {
      fail(ErrorCode::unsupported, "auto_pad and ceil_mode need known spatial dims");
    }
  }
  window.auto_pad = AutoPad::notset;
  window.ceil = false;
  return window;
}

Val conv_node(Val x, Val w, const Window& window, std::int64_t group) {
  return x.builder().node("Conv", {x, w}, attributes_of(window, group));
}

Val cut_spatial(Val x, Val shape, const Dims& dims) {
  const std::size_t axes = dims.size();
  const Dims have = spatial_part(x.type(), axes);
  const bool fits = std::equal(have.begin(), have.end(), dims.begin(),
                               [](Dim a, Dim b) { return a.known() && a.same(b); });
  if (fits) return x;
  Builder& b = x.builder();
  return b.node("Slice", {x, b.int64s(Ints(axes)), slice(shape, 2, INT64_MAX, 0),
                          b.int64s(spatial_axes(axes))});
}

Val adjoint_conv_node(Val dy, Val w, const Window& window, std::int64_t group, Val shape,
                      const Dims& in) {
  Builder& b = dy.builder();
  const std::size_t axes = window.axes.size();
  const Dims out = spatial_part(dy.type(), axes);
  Window exact = window;
  Ints more(axes);
  if (all_known(in) && all_known(out)) {
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
  const Val size = slice(shape, 2, INT64_MAX, 0);
  const Val begin = b.int64s(each(window, &WindowAxis::begin));
  const Val numbers = b.int64s(spatial_axes(axes));
  const Val part = b.node("Slice", {full, begin, begin + size, numbers});
  const Val missing = size - slice(unary("Shape", part), 2, INT64_MAX, 0);
  const Val pads[] = {b.int64s(Ints(axes)), missing};
  return b.node("Pad", {part, concat(pads, 0), Val(), numbers});
}

Val conv_weight_node(Val x, Val dy, const Window& window, std::int64_t group) {
  const std::size_t axes = window.axes.size();
  const Dims in = spatial_part(x.type(), axes);
  const Dims out = spatial_part(dy.type(), axes);
  // Positions of the window become offsets in the kernel, and the other way round.
  Window turned;
  Ints kernel;
  for (std::size_t i = 0; i < axes; ++i) {
    const WindowAxis& axis = window.axes[i];
    WindowAxis& to = turned.axes.emplace_back();
    if (!out[i].known()) {
      fail(ErrorCode::unsupported, "the derivative of a convolution needs known spatial dims");
    }
    to.kernel = out[i].size();
    to.stride = axis.dilation;
    to.dilation = axis.stride;
    to.begin = axis.begin;
    to.end = axis.end;
    kernel.push_back(axis.kernel);
    if (!in[i].known()) continue;
    const std::int64_t needed =
        (axis.kernel - 1) * axis.dilation + (out[i].size() - 1) * axis.stride + 1;
    to.end = std::max<std::int64_t>(0, needed - in[i].size() - axis.begin);
  }
  const Val dw = conv_node(channels_first(x, group), first_two_swapped(dy), turned, group);
  Dims dims;
  for (const std::int64_t size : kernel) dims.emplace_back(size);
  const Val shape = x.builder().int64s(joined({0, 0}, kernel));
  return first_two_swapped(cut_spatial(dw, shape, dims));
}

}  // namespace ondine::kernels
