// Rows of pooling windows. The columns under a stretch of outputs are cut by phase (column modulo
// stride), so that each tap of the window is a shifted pointer and outputs are lanes.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/pool/pool_table.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using N = std::int64_t;

constexpr N capacity = 4096;  // elements of the phases
constexpr N max_taps = 64;

ONDINE_INLINE N min(N a, N b) { return a < b ? a : b; }
ONDINE_INLINE N max(N a, N b) { return a > b ? a : b; }

// Taps [from, to) of a row's windows as phases.
struct Cut {
  N from, to;
  N phases;
  N pitch;
  N offset[max_taps];
};

// As many taps from `from` on as fit; one always does, out_w being at most pool_outputs.
template <class T>
Cut cut_from(const PoolRow& r, N from) {
  Cut cut;
  cut.from = from;
  N count = min(max_taps, r.kernel - from);
  for (;; count /= 2) {
    const N reach = (count - 1) * r.dilation;
    cut.phases = min(r.stride, reach + 1);
    cut.pitch = r.out_w + quotient(reach, r.stride) + lanes<T>;
    if (count == 1 || cut.phases * cut.pitch <= capacity) break;
  }
  cut.to = from + count;
  for (N k = 0; k < count; ++k) {
    const N column = k * r.dilation;
    cut.offset[k] = remainder(column, r.stride) * cut.pitch + quotient(column, r.stride);
  }
  return cut;
}

// Element j of phase q: column j stride + q + from dilation - pad, `outside` where there is none.
template <class T>
void copy_phases(const PoolRow& r, const Cut& cut, const T* line, T outside, T* dst) {
  const N start = cut.from * r.dilation - r.pad;
  if (r.stride == 2 && cut.phases == 2) {
    const N begin = min(cut.pitch, start >= 0 ? 0 : divide_up(-start, 2));
    const N end = max(begin, min(cut.pitch, (r.in_w - start) / 2));
    T* const odd = dst + cut.pitch;
    const auto edge = [&](N j) {
      const N column = 2 * j + start;
      dst[j] = column >= 0 && column < r.in_w ? line[column] : outside;
      odd[j] = column + 1 >= 0 && column + 1 < r.in_w ? line[column + 1] : outside;
    };
    for (N j = 0; j < begin; ++j) edge(j);
    split_pairs(dst + begin, odd + begin, line + 2 * begin + start, end - begin,
                std::make_integer_sequence<int, lanes<T>>());
    for (N j = end; j < cut.pitch; ++j) edge(j);
    return;
  }
  for (N q = 0; q < cut.phases; ++q, dst += cut.pitch) {
    const N column = start + q;
    const N begin = min(cut.pitch, column >= 0 ? 0 : divide_up(-column, r.stride));
    const N left = r.in_w - column;
    const N end = max(begin, min(cut.pitch, left > 0 ? divide_up(left, r.stride) : 0));
    for (N j = 0; j < begin; ++j) dst[j] = outside;
    if (r.stride == 1) {
      copy_short(dst + begin, line + column + begin, end - begin);
    } else {
      for (N j = begin; j < end; ++j) dst[j] = line[column + j * r.stride];
    }
    for (N j = end; j < cut.pitch; ++j) dst[j] = outside;
  }
}

template <class T, class Body>
ONDINE_INLINE void for_cuts(const PoolRow& r, const T* line, T outside, Body&& body) {
  alignas(64) T phases[capacity];
  for (N from = 0; from < r.kernel;) {
    const Cut cut = cut_from<T>(r, from);
    copy_phases(r, cut, line, outside, phases);
    body(cut, phases);
    from = cut.to;
  }
}

template <class T>
void max_line(const PoolRow& r, const T* line, N position, T* best, PoolCode<T>* code) {
  constexpr int L = lanes<T>;
  const T lowest = -static_cast<T>(__builtin_inff());
  for_cuts(r, line, lowest, [&](const Cut& cut, const T* phases) {
    for (N j = 0; j < r.out_w; j += L) {
      Vec<T> best_value = load(best + j);
      IVec<T> where{};
      if (code) __builtin_memcpy(&where, code + j, sizeof(where));
      for (N k = cut.from; k < cut.to; ++k) {
        const Vec<T> x = load(phases + cut.offset[k - cut.from] + j);
        const IVec<T> take = (x > best_value) | ((x != x) & (best_value == best_value));
        best_value = take ? x : best_value;
        if (code) {
          const auto here = static_cast<PoolCode<T>>(position + k * r.dilation - r.pad);
          where = take ? here - IVec<T>{} : where;
        }
      }
      store(best + j, best_value);
      if (code) __builtin_memcpy(code + j, &where, sizeof(where));
    }
  });
}

template <class T>
void sum_line(const PoolRow& r, const T* line, T* sum) {
  constexpr int L = lanes<T>;
  for_cuts(r, line, T{0}, [&](const Cut& cut, const T* phases) {
    for (N j = 0; j < r.out_w; j += L) {
      Vec<T> total = load(sum + j);
      for (N k = cut.from; k < cut.to; ++k) total += load(phases + cut.offset[k - cut.from] + j);
      store(sum + j, total);
    }
  });
}

template <class T>
void spread_line(const PoolRow& r, const T* dy, T* line) {
  for (N k = 0; k < r.kernel; ++k) {
    const N offset = k * r.dilation - r.pad;
    const N begin = offset >= 0 ? 0 : min(r.out_w, divide_up(-offset, r.stride));
    const N end =
        offset >= r.in_w ? begin : min(r.out_w, quotient(r.in_w - 1 - offset, r.stride) + 1);
    if (r.stride == 1) {
      for (N j = begin; j < end; ++j) line[offset + j] += dy[j];
    } else {
      for (N j = begin; j < end; ++j) line[offset + r.stride * j] += dy[j];
    }
  }
}

// NaN is the largest.
template <class T>
ONDINE_INLINE Vec<T> max_of(const Vec<T>& a, const Vec<T>& b) {
  return ((b > a) | (b != b)) ? b : a;
}

// Lane i of v, or of `next`, vector `at` of those from which every Stride-th element is taken.
template <class T, int Stride, int At, int... I>
ONDINE_INLINE Vec<T> take_strided(const Vec<T>& v, const Vec<T>& next,
                                  std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  return __builtin_shufflevector(v, next, (I * Stride / L == At ? L + I * Stride % L : I)...);
}

// p[0], p[Stride], ...; reads Stride whole vectors.
template <class T, int Stride, int... At>
ONDINE_INLINE Vec<T> load_strided(const T* p, std::integer_sequence<int, At...>) {
  constexpr int L = lanes<T>;
  constexpr auto every = std::make_integer_sequence<int, L>();
  Vec<T> v{};
  ((v = take_strided<T, Stride, At>(v, load(p + At * L), every)), ...);
  return v;
}
template <class T, int Stride>
ONDINE_INLINE Vec<T> load_strided(const T* p) {
  if constexpr (Stride == 1) return load(p);
  return load_strided<T, Stride>(p, std::make_integer_sequence<int, Stride>());
}

// Columns under a row of windows.
ONDINE_INLINE N span_of(const PoolRow& r) {
  return (r.out_w - 1) * r.stride + (r.kernel - 1) * r.dilation + 1;
}

// line[i] = the lines from `first` on, `step` apart, joined at column i - pad; `outside` stands for
// padding. Writes up to stride + 1 vectors past the span.
template <class T, class Join>
ONDINE_INLINE void join_lines(const PoolRow& r, const T* first, N step, N lines, T outside, T* line,
                              Join&& join) {
  constexpr int L = lanes<T>;
  const N span = span_of(r);
  const N begin = min(span, max(0, r.pad));
  const N end = max(begin, min(span, r.in_w + r.pad));
  for (N i = 0; i < begin; ++i) line[i] = outside;
  const auto column = [&](N i, auto get) __attribute__((always_inline)) {
    const T* x = first + i - r.pad;
    Vec<T> total = get(x);
    for (N k = 1; k < lines; ++k) total = join(total, get(x += step));
    store(line + i, total);
  };
  N i = begin;
  for (; i + L <= end; i += L) column(i, [](const T* p) { return load(p); });
  if (i < end) column(i, [rest = end - i](const T* p) { return load_n(p, rest); });
  for (N rest = end; rest < span + r.stride * L; rest += L) store(line + rest, broadcast(outside));
}

template <class T, int Stride, class Join>
ONDINE_INLINE void join_strided(const PoolRow& r, const T* line, T* y, Join&& join) {
  constexpr int L = lanes<T>;
  for (N j = 0; j < r.out_w; j += L) {
    const T* const from = line + j * Stride;
    Vec<T> total = load_strided<T, Stride>(from);
    for (N k = 1; k < r.kernel; ++k) {
      total = join(total, load_strided<T, Stride>(from + k * r.dilation));
    }
    if (r.out_w - j >= L) {
      store(y + j, total);
    } else {
      store_n(y + j, total, r.out_w - j);
    }
  }
}

// y = the taps of each window joined.
template <class T, class Join>
ONDINE_INLINE void join_taps(const PoolRow& r, const T* line, T* y, Join&& join) {
  static_assert(pool_joined_stride == 4);
  if (r.stride == 1) return join_strided<T, 1>(r, line, y, join);
  if (r.stride == 2) return join_strided<T, 2>(r, line, y, join);
  if (r.stride == 3) return join_strided<T, 3>(r, line, y, join);
  join_strided<T, 4>(r, line, y, join);
}

// Lines first, of as many rows of windows as fit: what was just stored is not read at once.
template <class T>
void max_plane(const PoolRow& r, const PoolColumn& c, const T* plane, T* y) {
  constexpr int L = lanes<T>;
  constexpr N space = 2 * (pool_span + (pool_joined_stride + 1) * L);
  alignas(64) T joined[space];
  const T lowest = -static_cast<T>(__builtin_inff());
  const auto join = [](const Vec<T>& a, const Vec<T>& b) __attribute__((always_inline)) {
    return max_of<T>(a, b);
  };
  const N pitch = span_of(r) + (r.stride + 1) * L;
  const N band = space / pitch;
  for (N from = 0; from < c.out_h; from += band) {
    const N rows = min(band, c.out_h - from);
    for (N i = 0; i < rows; ++i) {
      const N start = (from + i) * c.stride - c.pad;
      const N skipped = start < 0 ? divide_up(-start, c.dilation) : 0;
      const N first = start + skipped * c.dilation;
      const N lines = min(c.kernel - skipped, quotient(c.in_h - 1 - first, c.dilation) + 1);
      join_lines(r, plane + first * c.in_step, c.dilation * c.in_step, lines, lowest,
                 joined + i * pitch, join);
    }
    for (N i = 0; i < rows; ++i) {
      join_taps(r, joined + i * pitch, y + (from + i) * c.out_step, join);
    }
  }
}

template <class T>
void sum_window(const PoolRow& r, const T* first, N step, N lines, T* y) {
  alignas(64) T line[pool_span + (pool_joined_stride + 1) * lanes<T>];
  const auto join = [](const Vec<T>& a, const Vec<T>& b) __attribute__((always_inline)) {
    return a + b;
  };
  join_lines(r, first, step, lines, T{0}, line, join);
  join_taps(r, line, y, join);
}

template <class T, int... I>
ONDINE_INLINE IVec<T> lane_numbers(std::integer_sequence<int, I...>) {
  return IVec<T>{I...};
}

// a if it comes first of equals or is NaN, else b; `where` likewise.
template <class T>
ONDINE_INLINE void take_max(Vec<T>& a, IVec<T>& where, const Vec<T>& b, const IVec<T>& there) {
  const IVec<T> take = (b > a) | ((b != b) & (a == a));
  a = take ? b : a;
  where = take ? there : where;
}

// index[j] = position + where[j], j < count
template <class T>
ONDINE_INLINE void store_positions(N* index, const IVec<T>& where, N position, N count) {
  constexpr int L = lanes<T>;
  PoolCode<T> codes[L];
  __builtin_memcpy(codes, &where, sizeof(where));
  if (count == L) {
    for (N j = 0; j < L; ++j) index[j] = position + codes[j];
  } else {
    for (N j = 0; j < count; ++j) index[j] = position + codes[j];
  }
}

// Columns 2 j and 2 j + 1 of `count` outputs.
template <class T, int... I>
ONDINE_INLINE void load_pairs(const T* line, N count, Vec<T>& even, Vec<T>& odd,
                              std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  const N columns = 2 * count;
  const Vec<T> a = columns >= L ? load(line) : load_n(line, columns);
  const Vec<T> b = columns == 2 * L ? load(line + L)
                   : columns > L    ? load_n(line + L, columns - L)
                                    : Vec<T>{};
  even = __builtin_shufflevector(a, b, (2 * I)...);
  odd = __builtin_shufflevector(a, b, (2 * I + 1)...);
}

template <class T>
void max_squares(const T* upper, const T* lower, N n, N position, N width, T* y, N* index) {
  constexpr int L = lanes<T>;
  constexpr auto every = std::make_integer_sequence<int, L>();
  using Code = PoolCode<T>;
  for (N i = 0; i < n; i += L) {
    const N count = min(L, n - i);
    Vec<T> best_value;
    Vec<T> next;
    IVec<T> where{};
    load_pairs(upper + 2 * i, count, best_value, next, every);
    take_max<T>(best_value, where, next, Code{1} - IVec<T>{});
    Vec<T> below;
    load_pairs(lower + 2 * i, count, below, next, every);
    take_max<T>(best_value, where, below, static_cast<Code>(width) - IVec<T>{});
    take_max<T>(best_value, where, next, static_cast<Code>(width + 1) - IVec<T>{});
    if (count == L) {
      store(y + i, best_value);
    } else {
      store_n(y + i, best_value, count);
    }
    if (!index) continue;
    where += 2 * lane_numbers<T>(every);
    store_positions<T>(index + i, where, position + 2 * i, count);
  }
}

template <class T>
void max_windows(const PoolWindows<T>& w, const T* plane, N position, T* y, N* index) {
  constexpr int L = lanes<T>;
  alignas(64) T taps[max_window_taps * L];  // all first: what was just stored is not read at once
  for (N i = 0; i < w.outputs; i += L) {
    const PoolCode<T>* const starts = w.starts + i;
    for (N k = 0; k < w.count; ++k) {
      const T* const from = plane + w.taps[k];
      for (int l = 0; l < L; ++l) taps[k * L + l] = from[starts[l]];
    }
    Vec<T> best_value = load(taps);
    IVec<T> where = w.taps[0] - IVec<T>{};
    for (N k = 1; k < w.count; ++k) {
      take_max<T>(best_value, where, load(taps + k * L), w.taps[k] - IVec<T>{});
    }
    const N count = min(L, w.outputs - i);
    store_n(y + i, best_value, count);
    if (!index) continue;
    IVec<T> first;
    __builtin_memcpy(&first, starts, sizeof(first));
    store_positions<T>(index + i, where + first, position, count);
  }
}

template <class T>
constexpr PoolKernels<T> kernels_of = {&max_line<T>,   &sum_line<T>,   &spread_line<T>,
                                       &max_plane<T>,  &sum_window<T>, &max_squares<T>,
                                       &max_windows<T>};

}  // namespace

constinit const PoolKernels<float> pool_f32 = kernels_of<float>;
constinit const PoolKernels<double> pool_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
