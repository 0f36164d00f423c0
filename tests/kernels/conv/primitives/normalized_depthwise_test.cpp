#include "kernels/conv/primitives/conv_grads.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/kernels/common/row_test.h"
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

constexpr double floor_of_z = -0.4, high = 0.9, epsilon = 0.1, alpha = 1.5;

// Operands, and what the definition makes of them in double.
template <class T>
struct Case {
  Case(const ConvShape& of, bool at_floor, Activation with = Activation::bounds)
      : s(of), activation(with), low(at_floor ? floor_of_z : above_floor()) {
    Numbers numbers(static_cast<std::uint64_t>(s.in[2] + s.batch));
    x = numbers.row<T>(s.batch * s.groups * volume(s.in));
    dy = numbers.row<T>(s.batch * s.groups * volume(s.out));
    w = numbers.row<T>(s.groups * volume(s.kernel));
    scale = numbers.row<T>(s.groups);
    bias = numbers.row<T>(s.groups);
    const auto channels = static_cast<std::size_t>(s.groups);
    for (auto* v : {&mean, &variance}) v->resize(channels);
    for (auto* v : {&dscale, &dbias}) v->resize(channels);
    dx.resize(x.size());
    dw.resize(w.size());
    differentiate();
  }

  void differentiate() {
    const auto plane = static_cast<std::size_t>(volume(s.in));
    const auto channels = static_cast<std::size_t>(s.groups);
    const double count = static_cast<double>(s.batch * volume(s.in));
    const auto channel = [&](std::size_t i) { return i / plane % channels; };
    std::vector<double> sum(channels), squares(channels), v(x.size()), z(x.size()), dz(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sum[channel(i)] += static_cast<double>(x[i]) / count;
    for (std::size_t c = 0; c < channels; ++c) mean[c] = static_cast<T>(sum[c]);
    const auto centred = [&](std::size_t i) {
      return static_cast<double>(x[i]) - static_cast<double>(mean[channel(i)]);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      squares[channel(i)] += centred(i) * centred(i) / count;
    }
    for (std::size_t c = 0; c < channels; ++c) variance[c] = static_cast<T>(squares[c]);
    const auto inverse = [&](std::size_t c) {
      return 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(i);
      v[i] = centred(i) * inverse(c) * static_cast<double>(scale[c]) + static_cast<double>(bias[c]);
      z[i] = value_at(v[i]);
    }
    for_products(s, [&](std::size_t i, std::size_t k, std::size_t o) {
      dz[i] += static_cast<double>(w[k]) * static_cast<double>(dy[o]);
      dw[k] += static_cast<double>(dy[o]) * z[i];
    });
    for (std::size_t i = 0; i < x.size(); ++i) {
      dz[i] *= slope_at(v[i]);
      dbias[channel(i)] += dz[i];
      dscale[channel(i)] += dz[i] * centred(i) * inverse(channel(i));
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(i);
      const double hat = centred(i) * inverse(c);
      dx[i] = static_cast<double>(scale[c]) * inverse(c) *
              (dz[i] - dbias[c] / count - hat * dscale[c] / count);
    }
  }

  static double above_floor() {
    return static_cast<double>(std::nextafter(static_cast<T>(floor_of_z), T(1)));
  }
  double value_at(double v) const {
    if (activation == Activation::swish) return v / (1 + std::exp(-alpha * v));
    if (activation == Activation::hard_swish) return v * std::clamp(v / 6 + 0.5, 0.0, 1.0);
    return v < low ? floor_of_z : std::min(v, high);
  }
  double slope_at(double v) const {
    const double sigmoid = 1 / (1 + std::exp(-alpha * v));
    if (activation == Activation::swish) return sigmoid * (1 + alpha * v * (1 - sigmoid));
    if (activation == Activation::hard_swish) return v <= -3 ? 0 : v >= 3 ? 1 : v / 3 + 0.5;
    return v < low || v > high ? 0 : 1;
  }

  // dx, dscale, dbias and dw one after the other, by the implementation of a name.
  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels, std::string_view name) const {
    const ConvGrads<T> primitive({.shape = s,
                                  .normalized = true,
                                  .all = true,
                                  .norm = {.shape = {},
                                           .epsilon = epsilon,
                                           .low = floor_of_z,
                                           .high = high,
                                           .activation = activation,
                                           .alpha = alpha},
                                  .low = low,
                                  .threads = pool.threads()},
                                 name, kernels);
    const Scratch scratch(primitive.workspace());
    std::vector<T> results(x.size() + 2 * scale.size() + w.size());
    T* const to = results.data();
    const auto channels = static_cast<std::ptrdiff_t>(scale.size());
    T* const sums = to + x.size();
    primitive.run(pool, {.dy = dy.data(),
                         .x = x.data(),
                         .w = w.data(),
                         .scale = scale.data(),
                         .bias = bias.data(),
                         .mean = mean.data(),
                         .variance = variance.data(),
                         .dw = sums + 2 * channels,
                         .dx = to,
                         .dscale = sums,
                         .dbias = sums + channels,
                         .workspace = scratch});
    CHECK(scratch.intact());
    return results;
  }

  std::vector<double> wanted() const {
    std::vector<double> all = dx;
    for (const auto* v : {&dscale, &dbias, &dw}) all.insert(all.end(), v->begin(), v->end());
    return all;
  }

  ConvShape s;
  Activation activation;
  double low;
  std::vector<T> x, dy, w, scale, bias, mean, variance;
  std::vector<double> dx, dscale, dbias, dw;
};

std::string_view chosen(const ConvShape& s) {
  return ConvGrads<float>({.shape = s, .normalized = true, .all = true}).name();
}

std::vector<ConvShape> shapes() {
  std::vector<ConvShape> all;
  for (const Index stride : {1, 2}) {
    for (const Index width : {1, 2, 3, 7, 16, 17, 31, 32, 33, 63, 64, 100}) {
      for (const Index height : {1, 2, 9}) {
        all.push_back(shape2(2, 3, 3, 3, height, width, 3, 3, stride, 1, 1, 1));
      }
    }
    // Padding at the end that is none and more than is read.
    all.push_back(shape2(1, 2, 2, 2, 8, 35, 3, 3, stride, 1, 1, 0));
    all.push_back(shape2(1, 2, 2, 2, 8, 36, 3, 3, stride, 1, 1, 0));
    all.push_back(shape2(3, 2, 2, 2, 7, 33, 3, 3, stride, 1, 1, 3));
    // Many channels, and sums of many terms.
    all.push_back(shape2(1, 37, 37, 37, 5, 40, 3, 3, stride, 1, 1, 1));
    all.push_back(shape2(3, 2, 2, 2, 75, 70, 3, 3, stride, 1, 1, 1));
  }
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("gradients of depthwise convolutions of normalized planes follow the definition",
                   "", float, double) {
  using T = TestType;
  for (const ConvShape& s : shapes()) {
    for (const bool at_floor : {false, true}) {
      CAPTURE(s.in[1], s.in[2], s.stride[1], s.out[2], at_floor);
      const Case<T> one(s, at_floor);
      for (const std::string_view name : {"rows_3x3", "planes"}) {
        if (name == "rows_3x3" && chosen(s) != name) continue;
        CAPTURE(name);
        check<T>(one.wanted(), sizeof(T) == 4 ? 1e-5 : 1e-13,
                 [&](ThreadPool& pool, const SimdTables& set) { return one.run(pool, set, name); });
      }
    }
  }
}

TEMPLATE_TEST_CASE("gradients of other windows and activations follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const ConvShape& s : {shape2(2, 3, 3, 3, 9, 17, 5, 5, 1, 1, 2, 2),
                             shape2(3, 21, 21, 21, 14, 14, 5, 5, 1, 1, 2, 2),
                             shape2(2, 20, 20, 20, 13, 15, 5, 5, 2, 1, 2, 2),
                             shape2(2, 40, 40, 40, 7, 7, 5, 5, 1, 1, 2, 2),
                             shape2(2, 33, 33, 33, 56, 40, 3, 3, 2, 1, 1, 1),
                             shape2(2, 5, 5, 5, 40, 41, 3, 3, 1, 1, 1, 1),
                             shape2(2, 17, 17, 17, 12, 12, 3, 3, 1, 2, 2, 2),
                             shape2(2, 4, 4, 4, 9, 8, 2, 3, 3, 1, 0, 0)}) {
    for (const Activation activation :
         {Activation::bounds, Activation::hard_swish, Activation::swish}) {
      CAPTURE(s.in[1], s.in[2], s.kernel[1], s.stride[1], static_cast<int>(activation));
      const Case<T> one(s, false, activation);
      check<T>(
          one.wanted(), sizeof(T) == 4 ? 1e-5 : 1e-13,
          [&](ThreadPool& pool, const SimdTables& set) { return one.run(pool, set, "planes"); });
    }
  }
}

TEST_CASE("gradients of depthwise convolutions of normalized planes name what they need") {
  CHECK(chosen(shape2(2, 3, 3, 3, 9, 40, 3, 3, 2, 1, 1, 1)) == "rows_3x3");
  CHECK(chosen(shape2(2, 3, 3, 3, 9, 31, 3, 3, 1, 1, 1, 1)) == "planes");
  CHECK(chosen(shape2(2, 3, 3, 3, 9, 40, 5, 5, 1, 1, 1, 1)) == "planes");
  CHECK(chosen(shape2(2, 3, 3, 3, 9, 40, 3, 3, 3, 1, 1, 1)) == "planes");
  CHECK(chosen(shape2(2, 3, 3, 3, 9, 40, 3, 3, 1, 2, 1, 1)) == "planes");
  CHECK(chosen(shape2(2, 3, 3, 3, 9, 40, 3, 3, 1, 1, 2, 2)) == "planes");
  CHECK_THROWS_WITH(chosen(shape2(2, 4, 4, 2, 9, 40, 3, 3, 1, 1, 1, 1)),
                    Catch::Contains("for each group"));
}
