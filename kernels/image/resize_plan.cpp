#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/image/resize.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

std::vector<double> doubles(const Tensor* tensor) {
  std::vector<double> values;
  if (tensor == nullptr) return values;
  visit(tensor->dtype(), Types<float, double, float16, bfloat16, std::int64_t>{}, [&]<class T>() {
    for (const T& x : tensor->values<T>()) values.push_back(static_cast<double>(load(x)));
  });
  return values;
}

// Request of a node by axis: scales, or sizes, or neither while they are unknown.
struct Request {
  std::vector<std::size_t> axes;
  std::vector<double> roi;  // starts, then ends
  std::vector<double> scales;
  std::vector<double> sizes;
  enum class Ratio : std::uint8_t { stretch, not_larger, not_smaller } ratio = Ratio::stretch;
};

void check(const Request& r) {
  const auto expect = [&](const std::vector<double>& list, std::size_t count, const char* name) {
    if (!list.empty() && list.size() != count) {
      fail(ErrorCode::mismatch, std::string_view(name), " has ", list.size(),
           " values, needed: ", count);
    }
  };
  expect(r.scales, r.axes.size(), "scales");
  expect(r.sizes, r.axes.size(), "sizes");
  expect(r.roi, 2 * r.axes.size(), "roi");
  for (const double scale : r.scales) {
    if (!(scale > 0) || !std::isfinite(scale)) fail(ErrorCode::mismatch, "scale ", scale);
  }
  for (const double size : r.sizes) {
    if (size < 0) fail(ErrorCode::mismatch, "size ", size);
  }
}

Request read_request(const NodeView& node, std::size_t rank, auto&& constant) {
  Request r;
  const bool now = node.version() >= 11;
  const auto has = [&](std::size_t i) {
    return node.has_input(i) && (constant(i) == nullptr || constant(i)->size() > 0);
  };
  if (now && has(1)) r.roi = doubles(constant(1));
  const std::size_t scales_at = now ? 2 : 1;
  const bool by_scales = has(scales_at);
  const bool by_sizes = now && has(3);
  if (by_scales && by_sizes && constant(2) != nullptr && constant(3) != nullptr) {
    fail(ErrorCode::mismatch, "both scales and sizes are given");
  }
  for (const float scale : attribute_scales(node)) r.scales.push_back(double{scale});
  if (r.scales.empty() && by_scales) r.scales = doubles(constant(scales_at));
  if (by_sizes) r.sizes = doubles(constant(3));
  if (r.scales.empty() && !by_scales && !by_sizes) {
    fail(ErrorCode::mismatch, "neither scales nor sizes are given");
  }

  if (node.has_attr("axes")) {
    r.axes = normalize_axes(node.attr_ints("axes"), rank);
  } else {
    for (std::size_t i = 0; i < rank; ++i) r.axes.push_back(i);
  }
  check(r);
  const std::string policy = node.attr_string("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger") {
    r.ratio = Request::Ratio::not_larger;
  } else if (policy == "not_smaller") {
    r.ratio = Request::Ratio::not_smaller;
  } else if (policy != "stretch") {
    fail(ErrorCode::invalid_model, "keep_aspect_ratio_policy holds ", ondine::quoted(policy));
  }
  return r;
}

struct Target {
  std::int64_t size;
  double scale;
};

std::int64_t to_size(double x) {
  if (!(x >= 0 && x < 0x1p62)) fail(ErrorCode::limit, "an output dim of ", x);
  return static_cast<std::int64_t>(x);
}

// The target of each axis of the request; `in` holds their sizes.
std::vector<Target> targets(const Request& r, const std::vector<std::int64_t>& in) {
  std::vector<Target> result;
  if (!r.scales.empty()) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      result.push_back(
          {to_size(std::floor(static_cast<double>(in[k]) * r.scales[k])), r.scales[k]});
    }
    return result;
  }
  double common = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const double scale = r.sizes[k] / static_cast<double>(in[k]);
    result.push_back({to_size(r.sizes[k]), scale});
    const bool better = r.ratio == Request::Ratio::not_larger ? scale < common : scale > common;
    if (k == 0 || better) common = scale;
  }
  if (r.ratio == Request::Ratio::stretch) return result;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const double size = std::floor(common * static_cast<double>(in[k]) + 0.5);
    result[k] = {to_size(size), common};
  }
  return result;
}

}  // namespace

std::vector<float> attribute_scales(const NodeView& node) {
  if (node.version() >= 9 || node.node().op->name != "Upsample") return {};
  if (node.version() >= 7) return node.attr_floats("scales");
  return {1, 1, node.attr_float("height_scale", 1), node.attr_float("width_scale", 1)};
}

std::optional<Dims> resized_dims(const InferContext& context, const std::optional<Dims>& x) {
  read_resize_mode(context);
  if (!x) return std::nullopt;
  const Request r =
      read_request(context, x->size(), [&](std::size_t i) { return context.constant(i); });
  Dims y = *x;
  for (const std::size_t axis : r.axes) y[axis] = Dim();
  if (r.scales.empty() && r.sizes.empty()) return y;
  std::vector<std::int64_t> in;
  for (std::size_t k = 0; k < r.axes.size(); ++k) {
    const Dim dim = (*x)[r.axes[k]];
    // An axis that keeps its size keeps its dim, even where that is unknown.
    if (!r.scales.empty() && r.scales[k] == 1) y[r.axes[k]] = dim;
    if (dim.known()) in.push_back(dim.size());
  }
  if (in.size() < r.axes.size()) {
    for (std::size_t k = 0; k < r.axes.size(); ++k) {
      const Dim dim = (*x)[r.axes[k]];
      if (!r.sizes.empty() && r.ratio == Request::Ratio::stretch) {
        y[r.axes[k]] = to_size(r.sizes[k]);
      } else if (!r.scales.empty() && dim.known()) {
        y[r.axes[k]] = to_size(std::floor(static_cast<double>(dim.size()) * r.scales[k]));
      }
    }
    return y;
  }
  const auto all = targets(r, in);
  for (std::size_t k = 0; k < r.axes.size(); ++k) {
    if (in[k] == 0 && all[k].size != 0) context.reject("an axis of size 0 cannot grow");
    y[r.axes[k]] = all[k].size;
  }
  return y;
}

ResizePlan make_resize_plan(const BindContext& context, const Shape& x, const Shape& y) {
  const ResizeMode mode = read_resize_mode(context);
  const Request r =
      read_request(context, x.rank(), [&](std::size_t i) { return context.constant(i); });
  if (r.scales.empty() && r.sizes.empty()) {
    fail(ErrorCode::unsupported, "scales or sizes must be known when the node is bound");
  }
  const bool crop = mode.coordinates == Coordinates::tf_crop_and_resize;
  if (crop && r.roi.empty()) fail(ErrorCode::mismatch, "tf_crop_and_resize needs a known roi");
  std::vector<std::int64_t> in;
  for (const std::size_t axis : r.axes) in.push_back(x[axis]);
  const auto all = targets(r, in);
  ResizePlan plan;
  plan.maps.resize(x.rank());
  for (std::size_t k = 0; k < r.axes.size(); ++k) {
    const std::size_t axis = r.axes[k];
    if (y[axis] == x[axis] && all[k].scale == 1 && !crop) continue;
    plan.maps[axis] = axis_map(mode, x[axis], y[axis], all[k].scale, crop ? r.roi[k] : 0,
                               crop ? r.roi[r.axes.size() + k] : 1);
  }
  return plan;
}

}  // namespace ondine::kernels
