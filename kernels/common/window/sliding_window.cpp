#include "kernels/common/window/sliding_window.h"

#include <algorithm>

#include "core/checked.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

std::int64_t WindowAxis::span() const { return checked_add(checked_mul(dilation, kernel - 1), 1); }

namespace {

AutoPad auto_pad_of(const NodeView& node) {
  const std::string name = node.attr_string("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::notset;
  if (name == "SAME_UPPER") return AutoPad::same_upper;
  if (name == "SAME_LOWER") return AutoPad::same_lower;
  if (name == "VALID") return AutoPad::valid;
  fail(ErrorCode::invalid_model, "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, found ",
       ondine::quoted(name));
}

std::vector<std::int64_t> list(const NodeView& node, std::string_view name, std::size_t count,
                               std::int64_t otherwise, std::int64_t least) {
  std::vector<std::int64_t> values = node.attr_ints(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    fail(ErrorCode::mismatch, "attribute ", name, " has ", values.size(), " values, ", count,
         " are needed");
  }
  for (const std::int64_t value : values) {
    if (value < least) {
      fail(ErrorCode::mismatch, "attribute ", name, " holds ", value, ", the least is ", least);
    }
  }
  return values;
}

}  // namespace

void check_length(std::int64_t length) {
  // Sums of a few of these do not overflow.
  constexpr std::int64_t max_length = std::int64_t{1} << 48;
  if (length <= max_length) return;
  fail(ErrorCode::limit, "a window with a span, stride or pad of ", length,
       " elements; the limit is ", max_length);
}

std::vector<std::int64_t> kernel_shape(const NodeView& node) {
  if (!node.has_attr("kernel_shape")) {
    fail(ErrorCode::invalid_model, "attribute kernel_shape is missing");
  }
  return node.attr_ints("kernel_shape");
}

Window read_window(const NodeView& node, std::span<const std::int64_t> kernel) {
  const std::size_t n = kernel.size();
  Window window{auto_pad_of(node), node.attr_int("ceil_mode", 0) != 0, {}};
  const auto strides = list(node, "strides", n, 1, 1);
  const auto dilations = list(node, "dilations", n, 1, 1);
  const auto pads = list(node, "pads", 2 * n, 0, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (kernel[i] < 1) fail(ErrorCode::mismatch, "kernel dim ", kernel[i], " is below 1");
    window.axes.push_back({kernel[i], strides[i], dilations[i], pads[i], pads[n + i]});
    if (window.auto_pad != AutoPad::notset) window.axes[i].begin = window.axes[i].end = 0;
    for (const std::int64_t length : {window.axes[i].span(), strides[i], pads[i], pads[n + i]}) {
      check_length(length);
    }
  }
  return window;
}

std::int64_t resolve(WindowAxis& axis, std::int64_t in, AutoPad auto_pad, bool ceil) {
  const std::int64_t span = axis.span();
  if (auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) {
    const std::int64_t out = in / axis.stride + (in % axis.stride != 0);
    const std::int64_t covered =
        checked_add(checked_mul(std::max<std::int64_t>(out - 1, 0), axis.stride), span);
    const std::int64_t total = std::max<std::int64_t>(0, covered - in);
    axis.begin = auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    axis.end = total - axis.begin;
    return out;
  }
  const std::int64_t padded = checked_add(checked_add(in, axis.begin), axis.end);
  if (padded < span) {
    fail(ErrorCode::mismatch, "a window over ", span, " elements does not fit a dim of ", padded);
  }
  const std::int64_t rest = padded - span;
  std::int64_t out = rest / axis.stride + 1;
  if (ceil && auto_pad == AutoPad::notset && rest % axis.stride != 0) {
    // A window must not start in the padding at the end.
    if (checked_mul(out, axis.stride) < in + axis.begin) ++out;
  }
  return out;
}

Dim output_dim(WindowAxis axis, Dim in, AutoPad auto_pad, bool ceil) {
  if (in.known()) return resolve(axis, in.size(), auto_pad, ceil);
  const bool same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
  if (axis.stride == 1 && (same || checked_add(axis.begin, axis.end) == axis.span() - 1)) return in;
  return {};
}

math::SpatialDims spatial_dims(std::span<const std::int64_t> spatial) {
  require_spatial(spatial.size());
  math::SpatialDims result{1, 1, 1};
  std::copy(spatial.begin(), spatial.end(),
            result.end() - static_cast<std::ptrdiff_t>(spatial.size()));
  return result;
}

void require_spatial(std::size_t axes) {
  if (axes > 3) fail(ErrorCode::unsupported, "windows over ", axes, " axes, the limit is 3");
}

}  // namespace ondine::kernels
