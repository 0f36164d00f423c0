#include "kernels/signal/fft.h"

#include <cmath>
#include <numbers>

#include <catch2/catch.hpp>

#include <ondine/error.h>

using ondine::math::Fft;
using ondine::math::RealFft;
using Complex = std::complex<double>;

namespace {

std::vector<Complex> signal(std::int64_t n) {
  std::vector<Complex> x;
  for (std::int64_t j = 0; j < n; ++j) {
    const auto t = static_cast<double>(j);
    x.emplace_back(std::sin(1.3 * t + 0.2) + 0.1 * t, std::cos(0.7 * t * t));
  }
  return x;
}

}  // namespace

TEST_CASE("The transform of every length is the sum that defines it") {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 60, 64, 97, 100, 128}) {
    INFO(n);
    const auto x = signal(n);
    for (const bool inverse : {false, true}) {
      auto y = x;
      const Fft fft(n);
      std::vector<Complex> scratch(static_cast<std::size_t>(fft.scratch()));
      fft.run(y.data(), inverse, scratch.data());
      double worst = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        Complex sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const double angle = (inverse ? 2 : -2) * std::numbers::pi *
                               static_cast<double>(j * k % n) / static_cast<double>(n);
          sum += x[static_cast<std::size_t>(j)] * std::polar(1.0, angle);
        }
        worst = std::max(worst, std::abs(sum - y[static_cast<std::size_t>(k)]));
      }
      CHECK(worst < 1e-12 * static_cast<double>(n) * static_cast<double>(n));
    }
  }
}

TEST_CASE("The transform of real numbers is that of complex ones without imaginary parts") {
  for (const std::int64_t n : {2, 4, 6, 8, 10, 12, 14, 16, 34, 60, 64, 100, 122, 128, 256, 400}) {
    INFO(n);
    std::vector<Complex> whole;
    std::vector<Complex> pairs(static_cast<std::size_t>(n));
    for (const Complex& x : signal(n)) {
      const std::size_t j = whole.size();
      whole.emplace_back(x.real());
      pairs[j / 2] += j % 2 == 0 ? Complex(x.real()) : Complex(0, x.real());
    }
    const Fft complex(n);
    std::vector<Complex> scratch(static_cast<std::size_t>(complex.scratch()));
    complex.run(whole.data(), false, scratch.data());
    const RealFft real(n);
    scratch.resize(static_cast<std::size_t>(real.scratch()));
    real.run(pairs.data(), scratch.data());
    for (std::size_t k = 0; k <= static_cast<std::size_t>(n) / 2; ++k) {
      CHECK(std::abs(pairs[k] - whole[k]) <
            1e-13 * static_cast<double>(n) * static_cast<double>(n));
    }
  }
}

TEST_CASE("Long transforms come back") {
  for (const std::int64_t n : {4096, 8192, 10007}) {
    const auto x = signal(n);
    auto y = x;
    const Fft fft(n);
    std::vector<Complex> scratch(static_cast<std::size_t>(fft.scratch()));
    fft.run(y.data(), false, scratch.data());
    fft.run(y.data(), true, scratch.data());
    double worst = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      worst = std::max(worst, std::abs(y[j] / static_cast<double>(n) - x[j]));
    }
    CHECK(worst < 1e-9);
  }
}

TEST_CASE("Lengths that are no lengths are rejected") {
  CHECK_THROWS_AS(Fft(0), ondine::Error);
  CHECK_THROWS_AS(Fft(Fft::longest + 1), ondine::Error);
}
