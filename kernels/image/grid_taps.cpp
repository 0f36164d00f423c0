#include "kernels/image/grid_taps.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// x folded into [low, high]; `sign` is the derivative of that.
double reflect(double x, double low, double high, double& sign) {
  const double range = high - low;
  if (range <= 0) {
    sign = 0;
    return low;
  }
  double over = std::fmod(std::abs(x - low), 2 * range);
  sign = x < low ? -1 : 1;
  if (over > range) {
    over = 2 * range - over;
    sign = -sign;
  }
  return low + over;
}

// Where a coordinate is along an axis of n elements, and the derivative of that by the coordinate.
struct Position {
  double low, high;  // what coordinates -1 and 1 stand for
  double slope;
  double x;

  Position(const Sampling& s, double coordinate, double n)
      : low(s.align_corners ? 0 : -0.5),
        high(s.align_corners ? n - 1 : n - 0.5),
        slope(s.align_corners ? (n - 1) / 2 : n / 2),
        x(s.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2) {
    if (s.mode == GridMode::nearest) {
      x = std::nearbyint(x);
      slope = 0;
    }
    if (x >= low && x <= high) return;
    if (s.padding == GridPadding::border) {
      x = std::isnan(x) ? 0 : std::min(std::max(x, 0.0), n - 1);
      slope = 0;
    } else if (s.padding == GridPadding::reflection) {
      double sign = 1;
      x = std::isfinite(x) ? reflect(x, low, high, sign) : 0;
      slope *= sign;
    }
  }
};

// Cubic convolution (R. Keys, 1981): add(element, weight, first and second derivative) for the four
// elements around base + r.
template <class Add>
void add_cubic(std::int64_t base, double r, Add&& add) {
  constexpr double a = -0.75;
  for (std::int64_t k = -1; k <= 2; ++k) {
    const double d = static_cast<double>(k) - r;
    const double u = std::abs(d);
    const double sign = d < 0 ? 1 : -1;  // du/dr
    if (u <= 1) {
      add(base + k, ((a + 2) * u - (a + 3)) * u * u + 1, sign * (3 * (a + 2) * u - 2 * (a + 3)) * u,
          6 * (a + 2) * u - 2 * (a + 3));
    } else {
      add(base + k, ((a * u - 5 * a) * u + 8 * a) * u - 4 * a,
          sign * ((3 * a * u - 10 * a) * u + 8 * a), 6 * a * u - 10 * a);
    }
  }
}

}  // namespace

Sampling::Sampling(const NodeView& node) {
  const std::string m = node.attr_string("mode", "linear");
  if (m == "nearest") {
    mode = GridMode::nearest;
  } else if (m == "cubic" || m == "bicubic") {
    mode = GridMode::cubic;
  } else if (m != "linear" && m != "bilinear") {
    fail(ErrorCode::invalid_model, "unknown mode ", ondine::quoted(m));
  }
  const std::string p = node.attr_string("padding_mode", "zeros");
  if (p == "border") {
    padding = GridPadding::border;
  } else if (p == "reflection") {
    padding = GridPadding::reflection;
  } else if (p != "zeros") {
    fail(ErrorCode::invalid_model, "unknown padding_mode ", ondine::quoted(p));
  }
  align_corners = node.attr_int("align_corners", 0) != 0;
}

Taps taps(const Sampling& s, double coordinate, std::int64_t size) {
  const auto n = static_cast<double>(size);
  const Position at(s, coordinate, n);
  Taps t;
  if (!(std::abs(at.x) < 0x1p52)) return t;
  const auto base = static_cast<std::int64_t>(std::floor(at.x));
  const double r = at.x - std::floor(at.x);
  const auto add = [&](std::int64_t i, double weight, double change, double bend) {
    if (i < 0 || i >= size) {
      double sign = 1;
      if (s.padding == GridPadding::zeros) return;
      const double inside = s.padding == GridPadding::border
                                ? std::min(std::max(static_cast<double>(i), 0.0), n - 1)
                                : reflect(static_cast<double>(i), at.low, at.high, sign);
      i = std::min(std::max<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(inside)), 0),
                   size - 1);
    }
    const auto k = static_cast<std::size_t>(t.count++);
    t.index[k] = i;
    t.weight[k] = weight;
    t.slope[k] = change * at.slope;
    t.curve[k] = bend * at.slope * at.slope;
  };
  if (s.mode == GridMode::nearest) {
    add(static_cast<std::int64_t>(at.x), 1, 0, 0);
  } else if (s.mode == GridMode::linear) {
    add(base, 1 - r, -1, 0);
    add(base + 1, r, 1, 0);
  } else {
    add_cubic(base, r, add);
  }
  return t;
}

SampledDims::SampledDims(const Shape& x, const Shape& grid)
    : batch(x[0]),
      channels(x[1]),
      points(grid.size(1, grid.rank() - 1)),
      axes(x.rank() - 2),
      in(x.begin() + 2, x.end()) {
  for (const std::int64_t dim : in) plane *= dim;
  if (plane == 0 && batch * points > 0) fail(ErrorCode::mismatch, "samples of an empty X ", x);
}

}  // namespace ondine::kernels
