// Signal processing: DFT and its gradient, STFT, MelWeightMatrix, and the windows of Hann, Hamming
// and Blackman. This header: discrete Fourier transforms of any length, in double.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/simd/exact/exact_kernels.h"

namespace ondine::math {

// Tables for one length: radix 4 and 2 for powers of two, Bluestein's convolution for others.
// Immutable once built; safe to use from several threads.
class Fft {
 public:
  static constexpr std::int64_t longest = std::int64_t{1} << 22;

  // 1 <= n. Error(limit) above `longest`.
  explicit Fft(std::int64_t n);

  std::int64_t length() const noexcept { return n_; }
  // Elements of scratch memory for a call.
  std::int64_t scratch() const noexcept { return chirp_.empty() ? 0 : padded_; }
  // x_k <- sum over j of x_j exp(-2 pi i jk / n), with `inverse` exp(+...); not divided by n.
  void run(std::complex<double>* x, bool inverse, std::complex<double>* scratch) const;

 private:
  friend class RealFft;
  using Complex = std::complex<double>;
  void power_of_two(Complex* x) const;  // of padded_ elements

  std::int64_t n_;
  std::int64_t padded_;         // the power of two that is transformed
  std::vector<Complex> roots_;  // exp(-2 pi i j / padded_), j < padded_
  std::vector<std::int32_t> bit_reversal_;
  std::vector<Complex> chirp_;   // exp(-pi i j^2 / n), empty for powers of two
  std::vector<Complex> filter_;  // the transform of its conjugate
};

// Transforms of real numbers, of an even length, by one of half the length.
class RealFft {
 public:
  // 2 <= n, even. Error(limit) above twice Fft::longest.
  explicit RealFft(std::int64_t n);

  std::int64_t scratch() const noexcept { return half_.scratch(); }
  // x holds x_0 + i x_1, x_2 + i x_3, ...: n / 2 elements, which become the first n / 2 + 1 of the
  // sums over j of x_j exp(-2 pi i jk / n).
  void run(std::complex<double>* x, std::complex<double>* scratch) const;
  // For several lines at once, with the same results; nothing where n is no power of two or so long
  // that the lines do not stay in the cache. Valid while this lives.
  std::optional<FourierTables> tables() const;

 private:
  Fft half_;
  std::vector<std::complex<double>> roots_;  // exp(-2 pi i j / n), j <= n / 4
};

}  // namespace ondine::math
