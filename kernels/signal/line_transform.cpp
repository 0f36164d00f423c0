#include "kernels/signal/line_transform.h"

#include <algorithm>

#include "core/stop.h"

namespace ondine::math {

namespace {

constexpr std::int64_t row_shares = 16;  // chunks of rows, each with scratch memory of its own

}  // namespace

LineTransform::LineTransform(const Lines& lines)
    : lines_(lines), in_step_(lines.in.inner), out_step_(lines.out.inner) {
  if (lines.in_parts == 1 && !lines.hermitian && lines.n % 2 == 0 && lines.n <= Fft::longest) {
    real_.emplace(lines.n);
  } else {
    complex_.emplace(lines.n);
  }
  tables_ = row_tables();
}

std::optional<FourierTables> LineTransform::row_tables() const {
  const bool is_plain = !lines_.positive && !lines_.doubled && lines_.scale == 1;
  const bool are_rows = lines_.in.inner == 1 && lines_.out.inner == 2 && lines_.out_parts == 2;
  if (!real_ || !is_plain || !are_rows || lines_.in.dim < lines_.n ||
      lines_.out.dim > lines_.n / 2 + 1) {
    return {};
  }
  return real_->tables();
}

std::int64_t LineTransform::rows_scratch() const {
  return row_shares * fourier_scratch(tables_->half);
}

void LineTransform::run_rows(ThreadPool& pool, const float* from, float* to,
                             double* scratch) const {
  const std::int64_t count = lines_.in.outer;
  const std::int64_t each = (count + row_shares - 1) / row_shares;
  // Whole groups of lines, but for the last ones.
  const std::int64_t grain = (each + fourier_lines - 1) / fourier_lines * fourier_lines;
  const ExactKernels& exact = exact_kernels(simd_tables());
  pool.for_chunks(count, grain, [&](std::int64_t first, std::int64_t last) {
    const FourierLines lines{last - first,       from + first * lines_.in.dim,
                             lines_.in.dim,      to + first * 2 * lines_.out.dim,
                             2 * lines_.out.dim, lines_.out.dim};
    exact.fourier(*tables_, lines, scratch + first / grain * fourier_scratch(tables_->half));
  });
}

std::int64_t LineTransform::scratch_each() const {
  return lines_.n + (real_ ? real_->scratch() : complex_->scratch());
}

// The number of chunks of lines, each with scratch memory of its own.
std::int64_t LineTransform::shares() const {
  return std::clamp<std::int64_t>((std::int64_t{1} << 20) / scratch_each(), 1, 16);
}

std::int64_t LineTransform::scratch() const { return scratch_each() * shares(); }

void LineTransform::run(ThreadPool& pool, const double* from, double* to, Complex* scratch) const {
  const std::int64_t count = lines_.in.outer * (lines_.in.inner / lines_.in_parts);
  const std::int64_t grain = std::max<std::int64_t>(1, (count + shares() - 1) / shares());
  pool.for_chunks(count, grain, [&](std::int64_t first, std::int64_t last) {
    Complex* const mine = scratch + first / grain * scratch_each();
    for (auto line = first; line < last; ++line) {
      checkpoint(8 * (lines_.n + lines_.out.dim));
      run_line(from, to, line, mine);
    }
  });
}

void LineTransform::run_line(const double* from, double* to, std::int64_t line, Complex* x) const {
  const std::int64_t lines = lines_.in.inner / lines_.in_parts;  // side by side
  const std::int64_t outer = line / lines;
  const std::int64_t k = line % lines;
  from += outer * lines_.in.dim * lines_.in.inner + k * lines_.in_parts;
  to += outer * lines_.out.dim * lines_.out.inner + k * lines_.out_parts;
  if (real_) {
    read_real(from, x);
    real_->run(x, x + lines_.n);
    // The rest is the mirrored conjugate, and so is the transform with exp(+...).
    const std::int64_t count = std::min(lines_.results, lines_.out.dim);
    for (std::int64_t j = lines_.n / 2 + 1; j < count; ++j) x[j] = std::conj(x[lines_.n - j]);
    if (lines_.positive) {
      for (std::int64_t j = 0; j < count; ++j) x[j] = std::conj(x[j]);
    }
  } else {
    read(from, x);
    complex_->run(x, lines_.positive, x + lines_.n);
  }
  write(x, to);
}

// Pairs of neighbours.
void LineTransform::read_real(const double* from, Complex* x) const {
  const std::int64_t given = std::min(lines_.in.dim, lines_.n);
  const std::int64_t pairs = given / 2;
  for (std::int64_t j = 0; j < pairs; ++j) {
    x[j] = {from[2 * j * in_step_], from[(2 * j + 1) * in_step_]};
  }
  std::fill(x + pairs, x + lines_.n / 2, Complex(0));
  if (given % 2 == 1) x[pairs] = from[(given - 1) * in_step_];
}

void LineTransform::read(const double* from, Complex* x) const {
  const std::int64_t n = lines_.n;
  const std::int64_t half = n / 2 + 1;
  const std::int64_t given = std::min(lines_.in.dim, lines_.hermitian ? half : n);
  for (std::int64_t j = 0; j < given; ++j) {
    const double* part = from + j * in_step_;
    x[j] = {part[0], lines_.in_parts == 2 ? part[1] : 0};
  }
  std::fill(x + given, x + n, Complex(0));
  if (!lines_.hermitian) return;
  x[0] = x[0].real();
  if (n % 2 == 0) x[n / 2] = x[n / 2].real();
  for (std::int64_t j = half; j < n; ++j) x[j] = std::conj(x[n - j]);
}

void LineTransform::write(const Complex* x, double* to) const {
  for (std::int64_t j = 0; j < lines_.out.dim; ++j, to += out_step_) {
    const bool twice = lines_.doubled && j > 0 && 2 * j != lines_.n;
    const Complex value = j < lines_.results ? x[j] * (lines_.scale * (twice ? 2 : 1)) : Complex(0);
    to[0] = value.real();
    if (lines_.out_parts == 2) to[1] = value.imag();
  }
}

}  // namespace ondine::math
