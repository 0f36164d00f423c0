#include "kernels/signal/fft.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::math {
namespace {

using Complex = std::complex<double>;

// exp(-2 pi i num / den), 0 <= num < den.
Complex root(std::int64_t num, std::int64_t den) {
  const double angle = 2 * std::numbers::pi * (static_cast<double>(num) / static_cast<double>(den));
  return {std::cos(angle), -std::sin(angle)};
}

// Without the checks for infinities that operator* has.
inline Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Fft::Fft(std::int64_t n) : n_(n) {
  if (n < 1) fail(ErrorCode::mismatch, "a Fourier transform of length ", n);
  if (n > longest) {
    fail(ErrorCode::limit, "a Fourier transform of length ", n, ", the limit is ", longest);
  }
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(n));
  padded_ =
      power ? n : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1)));
  roots_.resize(at(padded_));
  bit_reversal_.resize(at(padded_));
  for_pieces(padded_, 64, [&](std::int64_t first, std::int64_t last) {
    for (auto j = first; j < last; ++j) roots_[at(j)] = root(j, padded_);
  });
  for (std::int64_t j = 1; j < padded_; ++j) {
    const std::int32_t half = bit_reversal_[at(j / 2)] / 2;
    bit_reversal_[at(j)] = half + static_cast<std::int32_t>(j % 2 * (padded_ / 2));
  }
  if (power) return;
  chirp_.resize(at(n));
  filter_.resize(at(padded_));
  for (std::int64_t j = 0; j < n; ++j) {
    checkpoint(64);
    chirp_[at(j)] = root(j * j % (2 * n), 2 * n);
    filter_[at(j)] = std::conj(chirp_[at(j)]);
    if (j > 0) filter_[at(padded_ - j)] = filter_[at(j)];
  }
  power_of_two(filter_.data());
}

void Fft::power_of_two(Complex* x) const {
  for (std::int64_t j = 0; j < padded_; ++j) {
    const std::int64_t k = bit_reversal_[at(j)];
    if (j < k) std::swap(x[j], x[k]);
  }
  std::int64_t width = 1;
  if (std::countr_zero(static_cast<std::uint64_t>(padded_)) % 2 == 1) {
    for (std::int64_t j = 0; j < padded_; j += 2) {
      const Complex a = x[j];
      x[j] = a + x[j + 1];
      x[j + 1] = a - x[j + 1];
    }
    width = 2;
  }
  // Two stages at a time.
  for (; width < padded_; width *= 4) {
    const std::int64_t step = padded_ / (4 * width);
    for (std::int64_t first = 0; first < padded_; first += 4 * width) {
      if (first % 65536 == 0) checkpoint(4 * std::max<std::int64_t>(65536, 4 * width));
      Complex* p = x + first;
      for (std::int64_t j = 0; j < width; ++j) {
        const Complex a = p[j];
        const Complex b = times(p[j + width], roots_[at(2 * j * step)]);
        const Complex c = times(p[j + 2 * width], roots_[at(j * step)]);
        const Complex d = times(p[j + 3 * width], roots_[at(3 * j * step)]);
        const Complex even = a + b;
        const Complex odd = a - b;
        const Complex sum = c + d;
        const Complex rotated(c.imag() - d.imag(), d.real() - c.real());  // -i (c - d)
        p[j] = even + sum;
        p[j + width] = odd + rotated;
        p[j + 2 * width] = even - sum;
        p[j + 3 * width] = odd - rotated;
      }
    }
  }
}

void Fft::run(Complex* x, bool inverse, Complex* scratch) const {
  // The inverse is the conjugate of the transform of the conjugate.
  const auto conjugate = [&] {
    for (std::int64_t j = 0; j < n_; ++j) x[j] = std::conj(x[j]);
  };
  if (inverse) conjugate();
  if (chirp_.empty()) {
    power_of_two(x);
  } else {
    for (std::int64_t j = 0; j < n_; ++j) scratch[j] = times(x[j], chirp_[at(j)]);
    for (std::int64_t j = n_; j < padded_; ++j) scratch[j] = 0;
    power_of_two(scratch);
    for (std::int64_t j = 0; j < padded_; ++j) {
      scratch[j] = std::conj(times(scratch[j], filter_[at(j)]));
    }
    power_of_two(scratch);
    const double share = 1 / static_cast<double>(padded_);
    for (std::int64_t j = 0; j < n_; ++j) {
      x[j] = times(std::conj(scratch[j]) * share, chirp_[at(j)]);
    }
  }
  if (inverse) conjugate();
}

RealFft::RealFft(std::int64_t n) : half_(n / 2) {
  for (std::int64_t j = 0; j <= n / 4; ++j) {
    checkpoint(64);
    roots_.push_back(root(j, n));
  }
}

std::optional<FourierTables> RealFft::tables() const {
  constexpr std::int64_t longest = 2048;
  const std::int64_t half = half_.length();
  if (!half_.chirp_.empty() || half < 4 || half > longest) return {};
  return FourierTables{half, reinterpret_cast<const double*>(half_.roots_.data()),
                       reinterpret_cast<const double*>(roots_.data()), half_.bit_reversal_.data()};
}

// The transforms of the elements with even and with odd positions are, as those of real numbers,
// symmetric, so that the transform of their complex sum tells them apart.
void RealFft::run(Complex* x, Complex* scratch) const {
  const std::int64_t half = half_.length();
  half_.run(x, false, scratch);
  x[half] = x[0];
  for (std::int64_t k = 0; 2 * k <= half; ++k) {
    const Complex a = x[k];
    const Complex b = std::conj(x[half - k]);
    const Complex even = 0.5 * (a + b);
    const Complex difference = 0.5 * (a - b);
    const Complex odd(difference.imag(), -difference.real());
    const Complex turned = times(odd, roots_[at(k)]);
    x[k] = even + turned;
    x[half - k] = std::conj(even - turned);
  }
}

}  // namespace ondine::math
