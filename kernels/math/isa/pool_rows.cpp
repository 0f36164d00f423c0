// Rows of pooling windows. The taps of a stretch of outputs are brought side by side in a small
// buffer (one for each tap's stride phase), then combined as vectors.
#include "kernels/math/isa/parts.h"
#include "kernels/math/isa/simd.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using N = std::int64_t;

constexpr N stretch = 128;  // outputs at a time

ONDINE_INLINE N smaller(N a, N b) { return a < b ? a : b; }
ONDINE_INLINE N larger(N a, N b) { return a > b ? a : b; }
ONDINE_INLINE N divide_up(N a, N b) { return (a + b - 1) / b; }

// Outputs [from, to) of a row for which tap `offset` (in elements of the row) lies inside.
struct Span {
  N from, to;
};
ONDINE_INLINE Span inside(const PoolRow& r, N offset, N first, N last) {
  const N begin = offset >= 0 ? 0 : divide_up(-offset, r.stride);
  const N end = offset >= r.in_w ? 0 : (r.in_w - 1 - offset) / r.stride + 1;
  const N from = larger(first, begin);
  return {from, larger(from, smaller(last, end))};
}

// The elements of one tap for outputs [first, last), `outside` where the tap lies outside of x.
template <class T>
ONDINE_INLINE void fetch(const PoolRow& r, const T* line, N offset, N first, N last, T outside,
                         T* dst) {
  const Span span = inside(r, offset, first, last);
  for (N j = first; j < span.from; ++j) dst[j - first] = outside;
  const T* const src = line + offset;
  if (r.stride == 1) {
    for (N j = span.from; j < span.to; ++j) dst[j - first] = src[j];
  } else if (r.stride == 2) {
    for (N j = span.from; j < span.to; ++j) dst[j - first] = src[2 * j];
  } else {
    for (N j = span.from; j < span.to; ++j) dst[j - first] = src[r.stride * j];
  }
  for (N j = span.to; j < last; ++j) dst[j - first] = outside;
}

// best = max(best, line), index: where. Starts with best = -infinity and index = -1.
template <class T>
void max_line(const PoolRow& r, const T* line, N position, T* best, N* index) {
  alignas(64) T taps[stretch];
  const T lowest = -static_cast<T>(__builtin_inff());
  for (N first = 0; first < r.out_w; first += stretch) {
    const N last = smaller(r.out_w, first + stretch);
    for (N k = 0; k < r.kernel; ++k) {
      const N offset = k * r.dilation - r.pad;
      fetch(r, line, offset, first, last, lowest, taps);
      T* const b = best + first;
      const N n = last - first;
      if (!index) {
        for (N j = 0; j < n; ++j) b[j] = !(taps[j] <= b[j]) && b[j] == b[j] ? taps[j] : b[j];
        continue;
      }
      N* const at = index + first;
      const N start = position + offset + first * r.stride;
      const Span span = inside(r, offset, first, last);
      for (N j = 0; j < n; ++j) {
        const bool real = j + first >= span.from && j + first < span.to;
        const bool better = (!(taps[j] <= b[j]) && b[j] == b[j]) || at[j] < 0;
        const bool take = real && better;
        b[j] = take ? taps[j] : b[j];
        at[j] = take ? start + j * r.stride : at[j];
      }
    }
  }
}

template <class T>
void sum_line(const PoolRow& r, const T* line, T* sum) {
  alignas(64) T taps[stretch];
  for (N first = 0; first < r.out_w; first += stretch) {
    const N last = smaller(r.out_w, first + stretch);
    for (N k = 0; k < r.kernel; ++k) {
      fetch(r, line, k * r.dilation - r.pad, first, last, T{0}, taps);
      for (N j = 0; j < last - first; ++j) sum[first + j] += taps[j];
    }
  }
}

template <class T>
void spread_line(const PoolRow& r, const T* dy, T* line) {
  for (N k = 0; k < r.kernel; ++k) {
    const N offset = k * r.dilation - r.pad;
    const Span span = inside(r, offset, 0, r.out_w);
    T* const dst = line + offset;
    if (r.stride == 1) {
      for (N j = span.from; j < span.to; ++j) dst[j] += dy[j];
    } else {
      for (N j = span.from; j < span.to; ++j) dst[r.stride * j] += dy[j];
    }
  }
}

}  // namespace

constinit const PoolKernels<float> pools_f32 = {&max_line<float>, &sum_line<float>,
                                                &spread_line<float>};
constinit const PoolKernels<double> pools_f64 = {&max_line<double>, &sum_line<double>,
                                                 &spread_line<double>};

}  // namespace ondine::math::ONDINE_ISA
