#include "kernels/conv/normalized_depthwise.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/kernels/common/row_test.h"
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

constexpr double floor_of_z = -0.4, high = 0.9, epsilon = 0.1;

// Operands, and what the definition makes of them in double.
template <class T>
struct Case {
  Case(const ConvShape& of, bool at_floor) : s(of), low(at_floor ? floor_of_z : -0.3) {
    Numbers numbers(static_cast<std::uint64_t>(s.in[2] + s.batch));
    x = numbers.row<T>(s.batch * s.groups * volume(s.in));
    dy = numbers.row<T>(s.batch * s.groups * volume(s.out));
    w = numbers.row<T>(s.groups * 9);
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
      z[i] = v[i] < low ? floor_of_z : std::min(v[i], high);
    }
    for_products(s, [&](std::size_t i, std::size_t k, std::size_t o) {
      dz[i] += static_cast<double>(w[k]) * static_cast<double>(dy[o]);
      dw[k] += static_cast<double>(dy[o]) * z[i];
    });
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (v[i] < low || v[i] > high) dz[i] = 0;
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

  // dx, dscale, dbias and dw one after the other.
  std::vector<T> run(ThreadPool& pool, const Kernels& kernels) const {
    const NormalizedDepthwiseGrad<T> primitive(
        {.shape = s, .epsilon = epsilon, .floor = floor_of_z, .low = low, .high = high},
        pool.threads(), kernels);
    const Scratch scratch(primitive.workspace());
    std::vector<T> results(x.size() + 2 * scale.size() + w.size());
    T* const to = results.data();
    const auto channels = static_cast<std::ptrdiff_t>(scale.size());
    T* const sums = to + x.size();
    primitive.run(pool,
                  {.dy = dy.data(),
                   .w = w.data(),
                   .x = x.data(),
                   .scale = scale.data(),
                   .bias = bias.data(),
                   .mean = mean.data(),
                   .variance = variance.data(),
                   .dx = to,
                   .dscale = sums,
                   .dbias = sums + channels,
                   .dw = sums + 2 * channels},
                  scratch);
    CHECK(scratch.intact());
    return results;
  }

  std::vector<double> wanted() const {
    std::vector<double> all = dx;
    for (const auto* v : {&dscale, &dbias, &dw}) all.insert(all.end(), v->begin(), v->end());
    return all;
  }

  ConvShape s;
  double low;
  std::vector<T> x, dy, w, scale, bias, mean, variance;
  std::vector<double> dx, dscale, dbias, dw;
};

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
      check<T>(one.wanted(), sizeof(T) == 4 ? 1e-5 : 1e-13,
               [&](ThreadPool& pool, const Kernels& kernels) { return one.run(pool, kernels); });
    }
  }
}

TEST_CASE("gradients of depthwise convolutions of normalized planes name what they need") {
  const auto supports = [](const ConvShape& s) {
    return NormalizedDepthwiseGrad<float>::supports(s);
  };
  CHECK(supports(shape2(2, 3, 3, 3, 9, 40, 3, 3, 2, 1, 1, 1)));
  CHECK_FALSE(supports(shape2(2, 4, 4, 2, 9, 40, 3, 3, 1, 1, 1, 1)));
  CHECK_FALSE(supports(shape2(2, 3, 3, 3, 9, 40, 5, 5, 1, 1, 1, 1)));
  CHECK_FALSE(supports(shape2(2, 3, 3, 3, 9, 40, 3, 3, 3, 1, 1, 1)));
  CHECK_FALSE(supports(shape2(2, 3, 3, 3, 9, 40, 3, 3, 1, 2, 1, 1)));
  CHECK_FALSE(supports(shape2(2, 3, 3, 3, 9, 40, 3, 3, 1, 1, 2, 2)));
  CHECK_THROWS_WITH(
      NormalizedDepthwiseGrad<float>({.shape = shape2(2, 3, 3, 3, 9, 40, 5, 5, 1, 1, 2, 2)}, 1),
      Catch::Contains("3 x 3"));
}
