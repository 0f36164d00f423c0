// The transforms of kernels/signal/fft.cpp, RealFft, of a line in each lane: the same operations in
// the same order.
#include "kernels/simd/exact/exact_parts.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using Vd = Vec<double>;
using N = std::int64_t;
typedef float HalfFloats __attribute__((vector_size(vector_bytes / 2)));

constexpr int width = lanes<double>;  // lines
static_assert(width <= fourier_lines);

// Element j of a line of complex numbers is at x + 2 * width * j, real parts first.
struct Complex {
  Vd re, im;
};

ONDINE_INLINE Complex get(const double* x, N j) {
  return {load(x + 2 * width * j), load(x + 2 * width * j + width)};
}
ONDINE_INLINE void put(double* x, N j, const Vd& re, const Vd& im) {
  store<double>(x + 2 * width * j, re);
  store<double>(x + 2 * width * j + width, im);
}
ONDINE_INLINE Complex times(const Complex& a, const double* root) {
  return {a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
}

// Pairs of neighbours as complex numbers, at reversed positions.
void read(const FourierTables& t, const float* const* rows, double* x) {
  for (N first = 0; first < 2 * t.half; first += width) {
    Vd v[width];
    for (int l = 0; l < width; ++l) {
      HalfFloats narrow;
      __builtin_memcpy(&narrow, rows[l] + first, sizeof(narrow));
      v[l] = __builtin_convertvector(narrow, Vd);
    }
    transpose<double>(v);
    for (int i = 0; i < width; i += 2) put(x, t.bit_reversal[(first + i) / 2], v[i], v[i + 1]);
  }
}

void first_stage(N half, double* x) {
  for (N j = 0; j < half; j += 2) {
    const Complex a = get(x, j);
    const Complex b = get(x, j + 1);
    put(x, j, a.re + b.re, a.im + b.im);
    put(x, j + 1, a.re - b.re, a.im - b.im);
  }
}

// Two stages: blocks of `size` become blocks four times as long.
void two_stages(const FourierTables& t, N size, double* x) {
  const N step = t.half / (4 * size);
  for (N first = 0; first < t.half; first += 4 * size) {
    for (N j = 0; j < size; ++j) {
      double* const p = x + 2 * width * (first + j);
      const Complex a = get(p, 0);
      const Complex b = times(get(p, size), t.roots + 4 * j * step);
      const Complex c = times(get(p, 2 * size), t.roots + 2 * j * step);
      const Complex d = times(get(p, 3 * size), t.roots + 6 * j * step);
      const Complex even{a.re + b.re, a.im + b.im};
      const Complex odd{a.re - b.re, a.im - b.im};
      const Complex sum{c.re + d.re, c.im + d.im};
      const Complex rotated{c.im - d.im, d.re - c.re};  // -i (c - d)
      put(p, 0, even.re + sum.re, even.im + sum.im);
      put(p, size, odd.re + rotated.re, odd.im + rotated.im);
      put(p, 2 * size, even.re - sum.re, even.im - sum.im);
      put(p, 3 * size, odd.re - rotated.re, odd.im - rotated.im);
    }
  }
}

// From the transform of the pairs to that of the real numbers.
void separate(const FourierTables& t, double* x) {
  const Complex begin = get(x, 0);
  put(x, t.half, begin.re, begin.im);
  for (N k = 0; 2 * k <= t.half; ++k) {
    const Complex a = get(x, k);
    const Complex b = get(x, t.half - k);  // its conjugate is meant
    const Complex even{0.5 * (a.re + b.re), 0.5 * (a.im - b.im)};
    const Complex difference{0.5 * (a.re - b.re), 0.5 * (a.im + b.im)};
    const Complex turned = times({difference.im, -difference.re}, t.real_roots + 2 * k);
    put(x, k, even.re + turned.re, even.im + turned.im);
    put(x, t.half - k, even.re - turned.re, -(even.im - turned.im));
  }
}

void write(const double* x, float* to, N step, N lines, N bins) {
  N j = 0;
  for (; j + width / 2 <= bins; j += width / 2) {
    Vd v[width];
    for (int i = 0; i < width; ++i) v[i] = load(x + 2 * width * j + width * i);
    transpose<double>(v);
    for (N l = 0; l < lines; ++l) {
      const HalfFloats narrow = __builtin_convertvector(v[l], HalfFloats);
      __builtin_memcpy(to + l * step + 2 * j, &narrow, sizeof(narrow));
    }
  }
  for (; j < bins; ++j) {
    for (N l = 0; l < lines; ++l) {
      to[l * step + 2 * j] = static_cast<float>(x[2 * width * j + l]);
      to[l * step + 2 * j + 1] = static_cast<float>(x[2 * width * j + width + l]);
    }
  }
}

}  // namespace

void fourier_lines_of(const FourierTables& tables, const FourierLines& lines, double* scratch) {
  for (N first = 0; first < lines.count; first += width) {
    const N count = lines.count - first < width ? lines.count - first : width;
    const float* rows[width];
    for (N l = 0; l < width; ++l) {
      rows[l] = lines.from + (first + (l < count ? l : count - 1)) * lines.from_step;
    }
    read(tables, rows, scratch);
    N size = 1;
    if (__builtin_ctzll(static_cast<unsigned long long>(tables.half)) % 2 == 1) {
      first_stage(tables.half, scratch);
      size = 2;
    }
    for (; size < tables.half; size *= 4) two_stages(tables, size, scratch);
    separate(tables, scratch);
    write(scratch, lines.to + first * lines.to_step, lines.to_step, count, lines.bins);
  }
}

}  // namespace ondine::math::ONDINE_ISA
