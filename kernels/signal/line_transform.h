// Discrete Fourier transforms of all lines along an axis.
#pragma once

#include <optional>

#include "core/parallel.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/signal/fft.h"

namespace ondine::math {

// Immutable once built; safe to use from several threads.
class LineTransform {
 public:
  // One transform of every line, of DFT or of its adjoint. Numbers are complex, [re, im] in the
  // last dim, or real: 2 or 1 parts.
  struct Lines {
    kernels::AxisView in, out;
    std::int64_t in_parts, out_parts;
    std::int64_t n;
    bool hermitian = false;  // the input holds the first half of a Hermitian signal
    bool positive = false;   // exp(+...)
    double scale = 1;
    bool doubled = false;  // results that stand for a conjugate pair count twice
    std::int64_t results;  // that are not 0
  };

  explicit LineTransform(const Lines& lines);
  LineTransform(const LineTransform&) = delete;
  LineTransform& operator=(const LineTransform&) = delete;

  std::int64_t scratch() const;  // elements of scratch memory for a call
  void run(ThreadPool& pool, const double* from, double* to, std::complex<double>* scratch) const;

  // Whether run_rows() does the same on floats: transforms of contiguous real numbers.
  bool has_rows() const { return tables_.has_value(); }
  std::int64_t rows_scratch() const;
  void run_rows(ThreadPool& pool, const float* from, float* to, double* scratch) const;

 private:
  using Complex = std::complex<double>;

  std::int64_t scratch_each() const;
  std::int64_t shares() const;
  std::optional<FourierTables> row_tables() const;
  void run_line(const double* from, double* to, std::int64_t line, Complex* x) const;
  void read(const double* from, Complex* x) const;
  void read_real(const double* from, Complex* x) const;
  void write(const Complex* x, double* to) const;

  Lines lines_;
  std::int64_t in_step_, out_step_;      // elements from a number of a line to the next
  std::optional<RealFft> real_;          // of an even number of real numbers
  std::optional<Fft> complex_;           // of others
  std::optional<FourierTables> tables_;  // of real_
};

}  // namespace ondine::math
