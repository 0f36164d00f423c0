#include <cmath>
#include <complex>
#include <numbers>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Complex = std::complex<double>;

Tensor number(std::int64_t value) { return Tensor::scalar(value); }

// The transform along axis 1 of [batch, size, parts], cut or filled to n; all n results.
std::vector<Complex> naive(const Tensor& x, std::int64_t n, double sign) {
  const Shape s = x.shape();
  const auto values = x.values<double>();
  std::vector<Complex> result;
  for (std::int64_t b = 0; b < s[0]; ++b) {
    for (std::int64_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (std::int64_t j = 0; j < std::min(n, s[1]); ++j) {
        const auto at = static_cast<std::size_t>((b * s[1] + j) * s[2]);
        const Complex value(values[at], s[2] == 2 ? values[at + 1] : 0);
        sum += value * std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k) /
                                           static_cast<double>(n));
      }
      result.push_back(sum);
    }
  }
  return result;
}

Tensor as_parts(const std::vector<Complex>& all, std::int64_t batch, std::int64_t keep,
                double scale) {
  const auto n = static_cast<std::int64_t>(all.size()) / batch;
  Tensor y(DType::float64, {batch, keep, 2});
  auto to = y.mutable_values<double>();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t k = 0; k < keep; ++k) {
      const Complex value = all[static_cast<std::size_t>(b * n + k)] * scale;
      to[static_cast<std::size_t>((b * keep + k) * 2)] = value.real();
      to[static_cast<std::size_t>((b * keep + k) * 2 + 1)] = value.imag();
    }
  }
  return y;
}

}  // namespace

TEST_CASE("DFT of real and complex signals, cut and filled, both ways") {
  for (const std::int64_t parts : {1, 2}) {
    const Tensor x = random_tensor({2, 6, parts}, 1);
    for (const std::int64_t n : {4, 6, 9}) {
      INFO(parts << " " << n);
      check_close(run_op_tensor({"DFT", {x, number(n), number(1)}}),
                  as_parts(naive(x, n, -1), 2, n, 1), {1e-10, 1e-12});
      check_close(run_op_tensor({"DFT", {x, number(n), number(1)}, {{"inverse", 1L}}}),
                  as_parts(naive(x, n, 1), 2, n, 1 / static_cast<double>(n)), {1e-10, 1e-12});
      check_close(run_op_tensor({"DFT", {x, number(n), number(-2)}, {{"onesided", 1L}}}),
                  as_parts(naive(x, n, -1), 2, n / 2 + 1, 1), {1e-10, 1e-12});
    }
  }
}

TEST_CASE("The inverse of a one-sided DFT is the real signal") {
  for (const std::int64_t n : {5, 8}) {
    const Tensor x = random_tensor({2, n, 3, 1}, 1);
    const graph::Attributes onesided{{"onesided", 1L}};
    const Tensor y = run_op_tensor({"DFT", {x, Value(), number(1)}, onesided});
    CHECK(y.shape() == Shape{2, n / 2 + 1, 3, 2});
    check_close(
        run_op_tensor({"DFT", {y, number(n), number(1)}, {{"onesided", 1L}, {"inverse", 1L}}}), x,
        {1e-10, 1e-12});
  }
  // The length that is not given is even.
  const Tensor half = random_tensor({1, 4, 2}, 1);
  CHECK(run_op_tensor({"DFT", {half}, {{"onesided", 1L}, {"inverse", 1L}}}).shape() ==
        Shape{1, 6, 1});
}

TEST_CASE("DFT takes the axis where its version has it") {
  const Tensor x = random_tensor({3, 4, 5, 1}, 1);
  const OpCase old{"DFT", {x}, {{"axis", 2L}}, 1, "", 17};
  check_close(run_op_tensor(old), run_op_tensor({"DFT", {x, Value(), number(2)}}));
  check_close(run_op_tensor({"DFT", {x}, {}, 1, "", 17}),
              run_op_tensor({"DFT", {x, Value(), number(1)}}));
  check_close(run_op_tensor({"DFT", {x}}), run_op_tensor({"DFT", {x, Value(), number(-2)}}));
}

TEST_CASE("DFT in every dtype, of nothing, and of what it cannot take") {
  const Tensor x = random_tensor({2, 8, 2}, 1);
  for (const DType dtype : float_dtypes) {
    const Tensor narrow = as_dtype(x, dtype);
    const Tensor in_double = Tensor::of<double>(x.shape(), as_doubles(narrow));
    check_close(run_op_tensor({"DFT", {narrow}}),
                as_dtype(run_op_tensor({"DFT", {in_double}}), dtype), closeness_of(dtype));
  }
  CHECK(run_op_tensor({"DFT", {Tensor(DType::float32, {0, 4, 1})}}).shape() == Shape{0, 4, 2});
  CHECK_THROWS_AS(run_op({"DFT", {Tensor(DType::float32, {2, 0, 1})}}), Error);
  CHECK_THROWS_AS(run_op({"DFT", {x, number(0)}}), Error);
  CHECK_THROWS_AS(run_op({"DFT", {x, Value(), number(2)}}), Error);
  CHECK_THROWS_AS(run_op({"DFT", {x, Value(), number(3)}}), Error);
  CHECK_THROWS_AS(run_op({"DFT", {random_tensor({2, 4, 3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"DFT", {random_tensor({4}, 1)}}), Error);
}

TEST_CASE("Derivatives of DFT") {
  for (const std::int64_t inverse : {0, 1}) {
    for (const std::int64_t onesided : {0, 1}) {
      for (const std::int64_t parts : {1, 2}) {
        for (const std::int64_t n : {4, 5, 7}) {
          INFO(inverse << onesided << parts << " " << n);
          const OpCase one{"DFT",
                           {random_tensor({2, 5, 2, parts}, 1), number(n), number(1)},
                           {{"inverse", inverse}, {"onesided", onesided}}};
          check_gradient(one, {.dynamic_dims = false, .elements = 12});
        }
      }
    }
  }
  check_gradient({"DFT", {random_tensor({2, 3, 1}, 1)}});
  check_gradient({"DFT", {random_tensor({2, 3, 2, 2}, 1)}, {{"axis", 2L}}, 1, "", 17});
}

TEST_CASE("STFT is a DFT of each weighted frame") {
  // With a common divisor of 4 or more, step and length move whole blocks.
  const auto [samples, step, length] = GENERATE(
      table<std::int64_t, std::int64_t, std::int64_t>({{11, 3, 4}, {31, 8, 12}, {24, 12, 8}}));
  const Tensor x = random_tensor({2, samples, 1}, 1);
  const Tensor window = random_tensor({length}, 2);
  const std::int64_t frames = (samples - length) / step + 1;
  for (const std::int64_t onesided : {0, 1}) {
    const Tensor y = run_op_tensor({"STFT", {x, number(step), window}, {{"onesided", onesided}}});
    const std::int64_t bins = onesided == 1 ? length / 2 + 1 : length;
    REQUIRE(y.shape() == Shape{2, frames, bins, 2});
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      Tensor part(DType::float64, {2, length, 1});
      for (std::int64_t i = 0; i < 2 * length; ++i) {
        part.mutable_values<double>()[static_cast<std::size_t>(i)] =
            x.values<double>()[static_cast<std::size_t>(i / length * samples + frame * step +
                                                        i % length)] *
            window.values<double>()[static_cast<std::size_t>(i % length)];
      }
      const Tensor want = as_parts(naive(part, length, -1), 2, bins, 1);
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t i = 0; i < bins * 2; ++i) {
          const auto at = static_cast<std::size_t>((b * frames + frame) * bins * 2 + i);
          CHECK(y.values<double>()[at] ==
                Approx(want.values<double>()[static_cast<std::size_t>(b * bins * 2 + i)])
                    .margin(1e-12));
        }
      }
    }
  }
}

TEST_CASE("STFT has frames where the signal is long enough") {
  const Tensor x = random_tensor({2, 11, 1}, 1);
  const Tensor window = random_tensor({4}, 2);
  CHECK(run_op_tensor({"STFT", {x, number(2), Value(), number(5)}}).shape() == Shape{2, 4, 3, 2});
  CHECK_THROWS_AS(run_op({"STFT", {x, number(0), window}}), Error);
  CHECK_THROWS_AS(run_op({"STFT", {x, number(1), window, number(5)}}), Error);
  CHECK(run_op_tensor({"STFT", {x, number(1), Value(), number(12)}}).shape() == Shape{2, 0, 7, 2});
  CHECK_THROWS_AS(run_op({"STFT", {random_tensor({2, 11, 3}, 1), number(1), window}}), Error);
}

TEST_CASE("Derivatives of STFT by signal and window") {
  check_gradient({"STFT", {random_tensor({1, 7, 1}, 1), number(2), random_tensor({4}, 2)}},
                 {.dynamic_dims = false, .elements = 10});
  check_gradient({"STFT", {random_tensor({2, 17, 1}, 1), number(4), random_tensor({8}, 2)}},
                 {.dynamic_dims = false, .elements = 10});
  check_gradient(
      {"STFT", {random_tensor({1, 6, 2}, 1), number(1), Value(), number(3)}, {{"onesided", 0L}}},
      {.dynamic_dims = false, .elements = 10});
}

TEST_CASE("Windows are sums of cosines") {
  const auto wave = [](double k, double n) { return std::cos(2 * std::numbers::pi * k / n); };
  for (const std::int64_t periodic : {0, 1}) {
    const double period = periodic == 1 ? 6 : 5;
    Tensor hann(DType::float64, {6});
    Tensor hamming(DType::float64, {6});
    Tensor blackman(DType::float64, {6});
    for (std::size_t k = 0; k < 6; ++k) {
      const double once = wave(static_cast<double>(k), period);
      const double twice = wave(2 * static_cast<double>(k), period);
      hann.mutable_values<double>()[k] = 0.5 - 0.5 * once;
      hamming.mutable_values<double>()[k] = 25.0 / 46 - 21.0 / 46 * once;
      blackman.mutable_values<double>()[k] = 0.42 - 0.5 * once + 0.08 * twice;
    }
    const std::vector<std::pair<const char*, Tensor>> windows{
        {"HannWindow", hann}, {"HammingWindow", hamming}, {"BlackmanWindow", blackman}};
    for (const auto& [name, want] : windows) {
      for (const DType dtype : float_dtypes) {
        check_close(run_op_tensor({name,
                                   {number(6)},
                                   {{"periodic", periodic},
                                    {"output_datatype", static_cast<std::int64_t>(dtype)}}}),
                    as_dtype(want, dtype), closeness_of(dtype));
      }
      CHECK(run_op_tensor({name, {Tensor::scalar(std::int32_t{0})}}).shape() == Shape{0});
      CHECK(as_doubles(run_op_tensor({name, {number(1)}, {{"periodic", 0L}}}))[0] ==
            Approx(1).margin(1e-6));
      CHECK_THROWS_AS(run_op({name, {number(-1)}}), Error);
      CHECK_THROWS_AS(run_op({name, {number(4)}, {{"output_datatype", 8L}}}), Error);
    }
  }
}

TEST_CASE("MelWeightMatrix has triangles between corners on the mel scale") {
  const auto edge = [](float value) { return Tensor::scalar(value); };
  const Tensor y = run_op_tensor(
      {"MelWeightMatrix", {number(4), number(64), number(8000), edge(0), edge(4000)}});
  REQUIRE(y.shape() == Shape{33, 4});
  const auto corner = [](int i) {
    const double high = 2595 * std::log10(1 + 4000.0 / 700);
    return std::floor(65 * 700 * (std::pow(10, high / 6 * i / 2595) - 1) / 8000);
  };
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 33; ++j) {
      const double up = (j - corner(i)) / (corner(i + 1) - corner(i));
      const double down = (corner(i + 2) - j) / (corner(i + 2) - corner(i + 1));
      CHECK(static_cast<double>(y.values<float>()[static_cast<std::size_t>(j * 4 + i)]) ==
            Approx(std::max(0.0, std::min(up, down))).margin(1e-6));
    }
  }
  CHECK_THROWS_AS(
      run_op({"MelWeightMatrix", {number(4), number(64), number(8000), edge(9), edge(4)}}), Error);
  CHECK_THROWS_AS(
      run_op({"MelWeightMatrix", {number(4), number(0), number(8000), edge(0), edge(4)}}), Error);
}
