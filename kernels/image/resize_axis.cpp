#include "kernels/image/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

template <class E>
struct Named {
  std::string_view name;
  E value;
};

template <class E, std::size_t n>
E pick(const NodeView& node, const char* attribute, const char* otherwise,
       const Named<E> (&all)[n]) {
  const std::string name = node.attr_string(attribute, otherwise);
  for (const auto& named : all) {
    if (named.name == name) return named.value;
  }
  fail(ErrorCode::invalid_model, "attribute ", std::string_view(attribute), " holds ",
       ondine::quoted(name));
}

constexpr Named<Interpolation> interpolations[] = {{"nearest", Interpolation::nearest},
                                                   {"linear", Interpolation::linear},
                                                   {"bilinear", Interpolation::linear},
                                                   {"cubic", Interpolation::cubic}};
constexpr Named<Coordinates> transformations[] = {
    {"half_pixel", Coordinates::half_pixel},
    {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
    {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
    {"align_corners", Coordinates::align_corners},
    {"asymmetric", Coordinates::asymmetric},
    {"tf_half_pixel_for_nn", Coordinates::tf_half_pixel_for_nn},
    {"tf_crop_and_resize", Coordinates::tf_crop_and_resize}};
constexpr Named<Rounding> roundings[] = {{"round_prefer_floor", Rounding::prefer_floor},
                                         {"round_prefer_ceil", Rounding::prefer_ceil},
                                         {"floor", Rounding::floor},
                                         {"ceil", Rounding::ceil}};

double source(const ResizeMode& mode, double x, double in, double out, double scale, double start,
              double end) {
  switch (mode.coordinates) {
    case Coordinates::half_pixel:
      return (x + 0.5) / scale - 0.5;
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - out / (scale * in)) + (x + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
    case Coordinates::align_corners: {
      // The output size asked for, which need not be whole; where it is, not that of a rounded
      // scale.
      const double size = std::abs(scale * in - out) < 0.001 ? out : scale * in;
      return x > 0 ? x * (in - 1) / (size - 1) : 0;
    }
    case Coordinates::asymmetric:
      return x / scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (x + 0.5) / scale;
    case Coordinates::tf_crop_and_resize:
      return out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)
                     : (start + end) * (in - 1) / 2;
  }
  return x;
}

double round_to(Rounding rounding, double x) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return std::ceil(x - 0.5);
    case Rounding::prefer_ceil:
      return std::floor(x + 0.5);
    case Rounding::floor:
      return std::floor(x);
    case Rounding::ceil:
      return std::ceil(x);
  }
  return x;
}

// Keys' kernel.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

void add_taps(AxisMap& map, const ResizeMode& mode, double at, double scale) {
  const auto last = static_cast<double>(map.in - 1);
  const auto clamped = [&](double i) {
    return static_cast<std::int64_t>(std::clamp(i, 0.0, last));
  };
  if (mode.interpolation == Interpolation::nearest) {
    map.taps.push_back({clamped(round_to(mode.rounding, at)), 1});
    return;
  }
  const double squeeze = mode.antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = mode.interpolation == Interpolation::linear ? 1 : 2;
  const double base = std::floor(at);
  const auto width = static_cast<std::int64_t>(std::ceil(reach / squeeze));
  const std::size_t begin = map.taps.size();
  double sum = 0;
  for (std::int64_t k = 1 - width; k <= width; ++k) {
    checkpoint(4);
    const double i = base + static_cast<double>(k);
    const double distance = (i - at) * squeeze;
    double weight = mode.interpolation == Interpolation::linear
                        ? std::max(0.0, 1 - std::abs(distance))
                        : cubic(distance, mode.cubic_a);
    if (mode.exclude_outside && (i < 0 || i > last)) weight = 0;
    if (weight == 0) continue;
    sum += weight;
    map.taps.push_back({clamped(i), weight});
  }
  if (!mode.antialias && !mode.exclude_outside) return;
  for (std::size_t t = begin; t < map.taps.size(); ++t) map.taps[t].weight /= sum;
}

}  // namespace

ResizeMode read_resize_mode(const NodeView& node) {
  ResizeMode mode;
  mode.interpolation = pick(node, "mode", "nearest", interpolations);
  if (node.version() < 11) {
    // Upsample and the first Resize: asymmetric coordinates rounded down.
    mode.coordinates = Coordinates::asymmetric;
    mode.rounding = Rounding::floor;
    return mode;
  }
  mode.coordinates = pick(node, "coordinate_transformation_mode", "half_pixel", transformations);
  mode.rounding = pick(node, "nearest_mode", "round_prefer_floor", roundings);
  mode.cubic_a = double{node.attr_float("cubic_coeff_a", -0.75F)};
  mode.exclude_outside = node.attr_int("exclude_outside", 0) != 0;
  mode.antialias = node.attr_int("antialias", 0) != 0;
  mode.extrapolation = double{node.attr_float("extrapolation_value", 0)};
  return mode;
}

AxisMap axis_map(const ResizeMode& mode, std::int64_t in, std::int64_t out, double scale,
                 double roi_start, double roi_end) {
  AxisMap map;
  map.in = in;
  map.first.push_back(0);
  for (std::int64_t o = 0; o < out; ++o) {
    checkpoint(64);
    const double at = source(mode, static_cast<double>(o), static_cast<double>(in),
                             static_cast<double>(out), scale, roi_start, roi_end);
    const bool outside = mode.coordinates == Coordinates::tf_crop_and_resize &&
                         !(at >= 0 && at <= static_cast<double>(in - 1));
    map.outside.push_back(outside);
    if (!outside) add_taps(map, mode, at, scale);
    map.first.push_back(map.taps.size());
  }
  return map;
}

}  // namespace ondine::kernels
