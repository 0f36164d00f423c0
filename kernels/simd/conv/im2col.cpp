// Moving the elements under a convolution's window to the columns of a matrix, and back.
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

// Positions of one output row that lie in one panel.
struct Run {
  N d, h, w;  // output coordinates of the first
  N length;
  N panel, at;  // where its column is
  N image;      // where its image starts
};

// Which of the run's elements lie inside of x for one tap of the window, and where the first is.
struct Tap {
  N begin, end;  // within the run
  N offset;      // in x, of the element `begin` of the first plane
};

Tap tap_of(const Im2colBlock& b, const Run& run, N kd, N kh, N kw) {
  const N d = run.d * b.stride[0] + kd * b.dilation[0] - b.pad[0];
  const N h = run.h * b.stride[1] + kh * b.dilation[1] - b.pad[1];
  if (d < 0 || d >= b.in[0] || h < 0 || h >= b.in[1]) return {0, 0, 0};
  const N w = run.w * b.stride[2] + kw * b.dilation[2] - b.pad[2];
  const N s = b.stride[2];
  const N begin = w >= 0 ? 0 : min(run.length, (-w + s - 1) / s);
  const N end = w >= b.in[2] ? begin : min(run.length, (b.in[2] - 1 - w) / s + 1);
  return {begin, max(begin, end), run.image + (d * b.in[1] + h) * b.in[2] + w + begin * s};
}

template <class Body>
ONDINE_INLINE void for_runs(const Im2colBlock& b, Body&& body) {
  for (N p = b.first; p < b.last;) {
    Run run;
    run.w = p % b.out[2];
    run.h = p / b.out[2] % b.out[1];
    run.d = p / (b.out[2] * b.out[1]) % b.out[0];
    run.image = p / (b.out[2] * b.out[1] * b.out[0]) * b.image;
    const N column = p - b.first;
    run.panel = column / b.width;
    run.at = column % b.width;
    run.length = min(min(b.out[2] - run.w, b.width - run.at), b.last - p);
    body(run);
    p += run.length;
  }
}

// body(tap, kernel index) for each tap of the window.
template <class Body>
ONDINE_INLINE void for_taps(const Im2colBlock& b, const Run& run, Body&& body) {
  N k = 0;
  for (N kd = 0; kd < b.kernel[0]; ++kd) {
    for (N kh = 0; kh < b.kernel[1]; ++kh) {
      for (N kw = 0; kw < b.kernel[2]; ++kw) body(tap_of(b, run, kd, kh, kw), k++);
    }
  }
}

// Elements that a tap of a run takes from each channel.
struct Piece {
  Tap tap;
  N to;      // where the run is in the columns
  N length;  // of the run
};
constexpr N max_pieces = 256;

// Channel by channel, so that planes and columns are in the first cache.
template <class T>
void gather_pieces(const Im2colBlock& b, const Piece* pieces, N count, const T* x, T* columns) {
  const N plane = b.in[0] * b.in[1] * b.in[2];
  const N rows = b.kernel[0] * b.kernel[1] * b.kernel[2] * b.width;
  const N s = b.stride[2];
  for (N c = 0; c < b.channels; ++c, x += plane, columns += rows) {
    for (const Piece* piece = pieces; piece != pieces + count; ++piece) {
      const Tap& tap = piece->tap;
      T* const dst = columns + piece->to;
      const T* const src = x + tap.offset;
      for (N i = 0; i < tap.begin; ++i) dst[i] = 0;
      if (s == 1) {
        copy_short(dst + tap.begin, src, tap.end - tap.begin);
      } else if (s == 2) {
        take_even(dst + tap.begin, src, tap.end - tap.begin);
      } else {
        for (N i = tap.begin; i < tap.end; ++i) dst[i] = src[(i - tap.begin) * s];
      }
      for (N i = tap.end; i < piece->length; ++i) dst[i] = 0;
    }
  }
}

template <class T>
void gather(const Im2colBlock& b, const T* x, T* columns) {
  const N rows = b.channels * b.kernel[0] * b.kernel[1] * b.kernel[2];
  Piece pieces[max_pieces];
  N count = 0;
  for_runs(b, [&](const Run& run) {
    for_taps(b, run, [&](const Tap& tap, N k) {
      pieces[count++] = {tap, (run.panel * rows + k) * b.width + run.at, run.length};
      if (count < max_pieces) return;
      gather_pieces(b, pieces, count, x, columns);
      count = 0;
    });
  });
  gather_pieces(b, pieces, count, x, columns);
  const N rest = (b.last - b.first) % b.width;
  if (rest == 0) return;
  T* dst = columns + (b.last - b.first) / b.width * rows * b.width;
  for (N r = 0; r < rows; ++r, dst += b.width) {
    for (N i = rest; i < b.width; ++i) dst[i] = 0;
  }
}

template <class T>
void scatter(const Im2colBlock& b, const T* columns, T* x) {
  constexpr int L = lanes<T>;
  const N taps = b.kernel[0] * b.kernel[1] * b.kernel[2];
  const N rows = b.channels * taps;
  const N plane = b.in[0] * b.in[1] * b.in[2];
  const N s = b.stride[2];
  for_runs(b, [&](const Run& run) {
    for_taps(b, run, [&](const Tap& tap, N k) {
      const T* src = columns + (run.panel * rows + k) * b.width + run.at + tap.begin;
      T* dst = x + tap.offset;
      const N n = tap.end - tap.begin;
      for (N c = 0; c < b.channels; ++c) {
        if (s == 1) {
          N i = 0;
          for (; i + L <= n; i += L) store(dst + i, load(dst + i) + load(src + i));
          for (; i < n; ++i) dst[i] += src[i];
        } else if (s == 2) {
          add_even(dst, src, n);
        } else {
          for (N i = 0; i < n; ++i) dst[i * s] += src[i];
        }
        src += taps * b.width;
        dst += plane;
      }
    });
  });
}

#if defined(__AVX512F__)
void gather_plane(const GatherTable& table, const float* x, float* columns, N row) {
  const std::uint8_t* count = table.counts;
  const GatherWindow* window = table.windows;
  for (N tap = 0; tap < table.taps; ++tap, columns += row) {
    for (N v = 0; v < table.vectors; ++v) {
      __m512 lanes = _mm512_setzero_ps();
      for (const GatherWindow* end = window + *count++; window != end; ++window) {
        const float* const from = x + window->start;
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(window->from));
        const __m512i index = _mm512_maskz_cvtepu8_epi32(0xffff, bytes);
        lanes = _mm512_mask_mov_ps(
            lanes, window->lanes,
            _mm512_permutex2var_ps(_mm512_loadu_ps(from), index, _mm512_loadu_ps(from + 16)));
      }
      _mm512_storeu_ps(columns + v * 16, lanes);
    }
  }
}

void gather_planes(const GatherTable& table, N plane, N planes, const float* x, float* columns,
                   N row) {
  constexpr N window = 2 * lanes<float>;
  float copy[Im2colKernels<float>::max_plane + window];
  for (N i = 0; i < planes; ++i, x += plane, columns += table.taps * row) {
    // Windows reach past a plane.
    const bool inside = plane + window <= (planes - i) * plane;
    if (!inside) copy_short(copy, x, plane);
    gather_plane(table, inside ? x : copy, columns, row);
  }
}

constexpr Im2colKernels<float> kernels_f32 = {&gather<float>, &scatter<float>, &gather_planes,
                                              lanes<float>};
#else
constexpr Im2colKernels<float> kernels_f32 = {&gather<float>, &scatter<float>};
#endif

}  // namespace

constinit const Im2colKernels<float> im2col_f32 = kernels_f32;
constinit const Im2colKernels<double> im2col_f64 = {&gather<double>, &scatter<double>};

}  // namespace ondine::math::ONDINE_ISA
