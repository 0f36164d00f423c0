// grid_sample.cpp — y at each point of the grid is x interpolated there; coordinates run from -1 to
// 1 over x, the last axis of x first. Version 20 renamed bilinear and bicubic to linear and cubic
// and added more spatial axes, 22 bfloat16. GridSampleGrad (ai.ondine): (dy, x, grid) -> dx, dgrid.
// It has no derivative itself.
#include <array>
#include <cmath>

#include "kernels/ops/infer_help.h"
#include "kernels/ops/op.h"
#include "kernels/ops/wide.h"
#include "kernels/ops/window.h"

namespace ondine::kernels::ops {
namespace {

enum class Mode : std::uint8_t { nearest, linear, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };

struct Sampling {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;

  explicit Sampling(const NodeView& node) {
    const std::string m = node.attr_string("mode", "linear");
    if (m == "nearest") {
      mode = Mode::nearest;
    } else if (m == "cubic" || m == "bicubic") {
      mode = Mode::cubic;
    } else if (m != "linear" && m != "bilinear") {
      fail(ErrorCode::invalid_model, "unknown mode ", ondine::quoted(m));
    }
    const std::string p = node.attr_string("padding_mode", "zeros");
    if (p == "border") {
      padding = Padding::border;
    } else if (p == "reflection") {
      padding = Padding::reflection;
    } else if (p != "zeros") {
      fail(ErrorCode::invalid_model, "unknown padding_mode ", ondine::quoted(p));
    }
    align_corners = node.attr_int("align_corners", 0) != 0;
  }
};

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

// The elements along one axis that a coordinate reads: weights and their derivatives by it.
struct Taps {
  int count = 0;
  std::array<std::int64_t, 4> index{};  // -1: zero
  std::array<double, 4> weight{};
  std::array<double, 4> slope{};
};

Taps taps(const Sampling& s, double coordinate, std::int64_t extent) {
  const auto n = static_cast<double>(extent);
  const double low = s.align_corners ? 0 : -0.5;
  const double high = s.align_corners ? n - 1 : n - 0.5;
  double slope = s.align_corners ? (n - 1) / 2 : n / 2;
  double x = s.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  if (s.mode == Mode::nearest) {
    x = std::nearbyint(x);
    slope = 0;
  }
  if (!(x >= low && x <= high)) {
    if (s.padding == Padding::border) {
      x = std::isnan(x) ? 0 : std::min(std::max(x, 0.0), n - 1);
      slope = 0;
    } else if (s.padding == Padding::reflection) {
      double sign = 1;
      x = std::isfinite(x) ? reflect(x, low, high, sign) : 0;
      slope *= sign;
    }
  }
  Taps t;
  if (!(std::abs(x) < 0x1p52)) return t;
  const auto base = static_cast<std::int64_t>(std::floor(x));
  const double r = x - std::floor(x);
  const auto add = [&](std::int64_t i, double weight, double change) {
    if (i < 0 || i >= extent) {
      double sign = 1;
      if (s.padding == Padding::zeros) return;
      const double at = s.padding == Padding::border
                            ? std::min(std::max(static_cast<double>(i), 0.0), n - 1)
                            : reflect(static_cast<double>(i), low, high, sign);
      i = std::min(std::max<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(at)), 0),
                   extent - 1);
    }
    const auto k = static_cast<std::size_t>(t.count++);
    t.index[k] = i;
    t.weight[k] = weight;
    t.slope[k] = change * slope;
  };
  if (s.mode == Mode::nearest) {
    add(static_cast<std::int64_t>(x), 1, 0);
  } else if (s.mode == Mode::linear) {
    add(base, 1 - r, -1);
    add(base + 1, r, 1);
  } else {
    constexpr double a = -0.75;  // Keys' kernel
    for (std::int64_t k = -1; k <= 2; ++k) {
      const double d = static_cast<double>(k) - r;
      const double u = std::abs(d);
      const double sign = d < 0 ? 1 : -1;  // du/dr
      if (u <= 1) {
        add(base + k, ((a + 2) * u - (a + 3)) * u * u + 1,
            sign * (3 * (a + 2) * u - 2 * (a + 3)) * u);
      } else {
        add(base + k, ((a * u - 5 * a) * u + 8 * a) * u - 4 * a,
            sign * ((3 * a * u - 10 * a) * u + 8 * a));
      }
    }
  }
  return t;
}

void infer(InferContext& context) {
  const Sampling sampling(context);
  const Type& x = context.input(0);
  if (!x.ranked() || !context.ranked(1)) return context.set_output(0, x.dtype, std::nullopt);
  const Dims& grid = context.dims(1);
  const std::size_t axes = x.rank() < 3 ? 0 : x.rank() - 2;
  if (axes == 0 || axes > 3) context.reject("X must have rank 3 to 5, found ", x.rank());
  if (grid.size() != x.rank()) {
    context.reject("grid ", graph::to_string(grid), " does not fit X ", graph::to_string(*x.dims));
  }
  unify(grid.back(), static_cast<std::int64_t>(axes), "coordinates in grid and axes of X");
  Dims y{unify((*x.dims)[0], grid[0], "batches"), (*x.dims)[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  context.set_output(0, x.dtype, y);
}

struct Extents {
  std::int64_t batch, channels, points;
  std::size_t axes;
  std::vector<std::int64_t> in;
  std::int64_t plane = 1;

  Extents(const Shape& x, const Shape& grid)
      : batch(x[0]),
        channels(x[1]),
        points(grid.size(1, grid.rank() - 1)),
        axes(x.rank() - 2),
        in(x.begin() + 2, x.end()) {
    for (const std::int64_t extent : in) plane *= extent;
    if (plane == 0 && batch * points > 0) fail(ErrorCode::mismatch, "samples of an empty X ", x);
  }
};

// Calls body(offset in the plane, weight, derivative by each coordinate) for every element that a
// point reads. `at` are the grid's coordinates, the last axis first.
template <class Body>
void for_elements(const Sampling& s, const Extents& e, const double* at, Body&& body) {
  std::array<Taps, 3> t;
  int combinations = 1;
  for (std::size_t axis = 0; axis < e.axes; ++axis) {
    t[axis] = taps(s, at[e.axes - 1 - axis], e.in[axis]);
    combinations *= t[axis].count;
  }
  for (int k = 0; k < combinations; ++k) {
    int rest = k;
    std::int64_t offset = 0;
    double weight = 1;
    std::array<double, 3> slope{1, 1, 1};
    for (std::size_t axis = 0; axis < e.axes; ++axis) {
      const auto i = static_cast<std::size_t>(rest % t[axis].count);
      rest /= t[axis].count;
      offset = offset * e.in[axis] + t[axis].index[i];
      weight *= t[axis].weight[i];
      for (std::size_t other = 0; other < e.axes; ++other) {
        slope[other] *= other == axis ? t[axis].slope[i] : t[axis].weight[i];
      }
    }
    body(offset, weight, slope);
  }
}

Kernel bind(BindContext& context) {
  const Sampling sampling(context);
  const Extents e(context.shape(0), context.shape(1));
  Scratch scratch;
  const WideIn<double> x(context, scratch, 0);
  const WideIn<double> grid(context, scratch, 1);
  const WideOut<double> y(context, scratch, 0, e.batch * e.channels * e.points);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = x(call);
    const double* at = grid(call);
    double* to = y.data(call);
    call.pool().for_chunks(e.batch * e.points, 256, [&](std::int64_t first, std::int64_t last) {
      for (auto p = first; p < last; ++p) {
        const std::int64_t n = p / e.points;
        double* out = to + n * e.channels * e.points + p % e.points;
        for (std::int64_t c = 0; c < e.channels; ++c) out[c * e.points] = 0;
        const double* in = from + n * e.channels * e.plane;
        for_elements(sampling, e, at + p * static_cast<std::int64_t>(e.axes),
                     [&](std::int64_t offset, double weight, const auto&) {
                       for (std::int64_t c = 0; c < e.channels; ++c) {
                         out[c * e.points] += weight * in[c * e.plane + offset];
                       }
                     });
      }
    });
    y.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  const std::vector<Val> inputs{g.dy(0), g.x(0), g.x(1)};
  return g.builder().nodes("GridSampleGrad", inputs, g.node().attributes, 2, ondine_domain);
}

void infer_grad(InferContext& context) {
  context.set_output(0, context.input(1));
  context.set_output(1, context.input(2));
}

Kernel bind_grad(BindContext& context) {
  const Sampling sampling(context);
  const Extents e(context.shape(1), context.shape(2));
  if (context.shape(0).size() != e.batch * e.channels * e.points) {
    fail(ErrorCode::mismatch, "dy has shape ", context.shape(0));
  }
  Scratch scratch;
  const WideIn<double> dy(context, scratch, 0);
  const WideIn<double> x(context, scratch, 1);
  const WideIn<double> grid(context, scratch, 2);
  const WideOut<double> dx(context, scratch, 0, e.batch * e.channels * e.plane, true);
  const WideOut<double> dgrid(context, scratch, 1, context.shape(2).size(), true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = dy(call);
    const double* image = x(call);
    const double* at = grid(call);
    double* to = dx.data(call);
    double* change = dgrid.data(call);
    const auto axes = static_cast<std::int64_t>(e.axes);
    call.pool().for_chunks(e.batch, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto n = first; n < last; ++n) {
        std::fill_n(to + n * e.channels * e.plane, e.channels * e.plane, 0.0);
        std::fill_n(change + n * e.points * axes, e.points * axes, 0.0);
        for (std::int64_t p = 0; p < e.points; ++p) {
          const std::int64_t row = (n * e.points + p) * axes;
          for_elements(
              sampling, e, at + row, [&](std::int64_t offset, double weight, const auto& slope) {
                double sum = 0;
                for (std::int64_t c = 0; c < e.channels; ++c) {
                  const std::int64_t plane = n * e.channels + c;
                  const double d = from[plane * e.points + p];
                  to[plane * e.plane + offset] += weight * d;
                  sum += d * image[plane * e.plane + offset];
                }
                for (std::int64_t axis = 0; axis < axes; ++axis) {
                  change[row + axes - 1 - axis] += sum * slope[static_cast<std::size_t>(axis)];
                }
              });
        }
      }
    });
    dx.store(call);
    dgrid.store(call);
  };
}

}  // namespace

extern const OpDef grid_sample{.name = "GridSample", .infer = infer, .bind = bind, .grad = grad};
extern const OpDef grid_sample_grad{
    .name = "GridSampleGrad", .domain = ondine_domain, .infer = infer_grad, .bind = bind_grad};

}  // namespace ondine::kernels::ops
