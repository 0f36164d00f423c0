// Reductions of rows. Four accumulators over blocks, the blocks' sums added by halves: the error
// grows with the logarithm of n, and the order depends on n alone.
#pragma once

#include "kernels/simd/vector/widened.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr std::int64_t sum_block = 2048;

// The first n lanes of v; `other` in those after them.
template <class T, int... I>
ONDINE_INLINE Vec<T> first_lanes(const Vec<T>& v, std::int64_t n, T other,
                                 std::integer_sequence<int, I...>) {
  using Lane = typename IntOf<T>::type;
  const IVec<T> lane{static_cast<Lane>(I)...};
  return lane < static_cast<Lane>(n) ? v : broadcast<T>(other);
}
template <class T>
ONDINE_INLINE Vec<T> first_lanes(const Vec<T>& v, std::int64_t n, T other = 0) {
  return first_lanes<T>(v, n, other, std::make_integer_sequence<int, lanes<T>>());
}

template <class T, class F>
ONDINE_INLINE T sum_one_block(std::int64_t from, std::int64_t n, F&& term) {
  constexpr int L = lanes<T>;
  Vec<T> acc[4] = {};
  const auto whole = [](const auto* p) __attribute__((always_inline)) { return load_widened(p); };
  std::int64_t i = from;
  const std::int64_t end = from + n;
  for (; i + 4 * L <= end; i += 4 * L) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[v] += term(i + v * L, whole);
  }
  int v = 0;
  for (; i + L <= end; i += L, ++v) acc[v & 3] += term(i, whole);
  Vec<T> total = (acc[0] + acc[1]) + (acc[2] + acc[3]);
  if (i < end) {
    // Lanes past the end must not count, whatever the term makes of the zeros that fill them.
    const std::int64_t rest = end - i;
    const Vec<T> last = term(
        i, [rest](const auto* p)
               __attribute__((always_inline)) { return load_widened_n(p, rest); });
    total += first_lanes<T>(last, rest);
  }
  return lane_sum<T>(total);
}

// Sum over i of term(i, get), where get(p + i) loads a vector.
template <class T, class F>
static T sum_terms(std::int64_t from, std::int64_t n, const F& term) {
  if (n <= sum_block) return sum_one_block<T>(from, n, term);
  const std::int64_t blocks = (n + sum_block - 1) / sum_block;
  const std::int64_t half = blocks / 2 * sum_block;
  return sum_terms<T>(from, half, term) + sum_terms<T>(from + half, n - half, term);
}

// The better of all elements, `start` where there are none; NaN wins. better(a, b) is a > b or a <
// b on vectors.
template <class T, class Better>
ONDINE_INLINE T select_row(const T* src, std::int64_t n, T start, Better&& better) {
  constexpr int L = lanes<T>;
  const auto choose = [&](const Vec<T>& a, const Vec<T>& b) __attribute__((always_inline)) {
    return better(b, a) ? b : a;
  };
  Vec<T> best[4], spoiled{};
  for (Vec<T>& each : best) each = broadcast<T>(start);
  const auto add = [&](Vec<T> & to, const Vec<T>& x) __attribute__((always_inline)) {
    to = choose(to, x);
    spoiled = x == x ? spoiled : x;
  };
  std::int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) add(best[v], load(src + i + v * L));
  }
  int v = 0;
  for (; i + L <= n; i += L, ++v) add(best[v], load(src + i));
  if (i < n) add(best[3], first_lanes<T>(load_n(src + i, n - i), n - i, start));
  if (const T any = lane_sum<T>(spoiled); any != any) return any;
  return join_lanes<T>(choose(choose(best[0], best[1]), choose(best[2], best[3])), choose);
}

template <class T, int Vectors>
struct Strip {
  Vec<T> v[Vectors];
};

// Sums of a strip of columns over `rows` rows; term(i, offset of the column, get).
template <class T, int Vectors, class Get, class F>
static Strip<T, Vectors> sum_strip(std::int64_t from, std::int64_t rows, Get get, const F& term) {
  if (rows > 64) {
    const std::int64_t half = rows / 2;
    Strip<T, Vectors> a = sum_strip<T, Vectors>(from, half, get, term);
    const Strip<T, Vectors> b = sum_strip<T, Vectors>(from + half, rows - half, get, term);
    for (int v = 0; v < Vectors; ++v) a.v[v] += b.v[v];
    return a;
  }
  Strip<T, Vectors> sum{};
  for (std::int64_t i = from; i < from + rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sum.v[v] += term(i, v * lanes<T>, get);
  }
  return sum;
}

// dst[j] = sum over i < rows of term(i, j, get), where get(p) loads elements from j on.
template <class T, class F>
ONDINE_INLINE void sum_columns(T* dst, std::int64_t rows, std::int64_t cols, F&& term) {
  constexpr int L = lanes<T>;
  const auto whole = [](const auto* p) __attribute__((always_inline)) { return load_widened(p); };
  std::int64_t j = 0;
  const auto at =
      [&j, &term ](std::int64_t i, std::int64_t offset, auto get) __attribute__((always_inline)) {
    return term(i, j + offset, get);
  };
  for (; j + 4 * L <= cols; j += 4 * L) {
    const auto sum = sum_strip<T, 4>(0, rows, whole, at);
    for (int v = 0; v < 4; ++v) store(dst + j + v * L, sum.v[v]);
  }
  for (; j + L <= cols; j += L) store(dst + j, sum_strip<T, 1>(0, rows, whole, at).v[0]);
  if (j < cols) {
    const std::int64_t rest = cols - j;
    const auto part = [rest](const auto* p) __attribute__((always_inline)) {
      return load_widened_n(p, rest);
    };
    store_n(dst + j, sum_strip<T, 1>(0, rows, part, at).v[0], rest);
  }
}

// dst[j] += the elements j of rows that are ld apart, in the order of rows.
template <class T, class X>
static void add_rows(T* dst, const X* src, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  constexpr int L = lanes<T>, count = 4;
  std::int64_t j = 0;
  for (; j + count * L <= cols; j += count * L) {
    Vec<T> sum[count];
    for (int v = 0; v < count; ++v) sum[v] = load(dst + j + v * L);
    for (std::int64_t i = 0; i < rows; ++i) {
      const X* const row = src + i * ld + j;
#pragma GCC unroll 4
      for (int v = 0; v < count; ++v) sum[v] += load_widened(row + v * L);
    }
    for (int v = 0; v < count; ++v) store(dst + j + v * L, sum[v]);
  }
  for (; j < cols; j += L) {
    const std::int64_t some = cols - j < L ? cols - j : L;
    Vec<T> sum = load_n(dst + j, some);
    for (std::int64_t i = 0; i < rows; ++i) sum += load_widened_n(src + i * ld + j, some);
    store_n(dst + j, sum, some);
  }
}

}  // namespace ondine::math::ONDINE_ISA
