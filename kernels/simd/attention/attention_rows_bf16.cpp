// Up to 8 vectors of a row stay in registers. Two such rows are computed at a time: while one waits
// for a sum of lanes, the processor works on the other. Longer rows are passed over three times.
#include "kernels/simd/attention/attention_rows_table.h"
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/vector/pairs_bf16.h"
#include "kernels/simd/vector/reduce.h"
#include "kernels/simd/vector/transcendental.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int L = lanes<float>;
constexpr std::int64_t most_vectors = 8;

#define ONDINE_LAMBDA __attribute__((always_inline))

ONDINE_INLINE Vec<float> larger(const Vec<float>& a, const Vec<float>& b) { return b > a ? b : a; }

ONDINE_INLINE float lane_maximum(const Vec<float>& v) {
  return join_lanes<float>(v,
                           [](const auto& a, const auto& b) ONDINE_LAMBDA { return larger(a, b); });
}

ONDINE_INLINE void fill_zeros(std::uint16_t* to, std::int64_t from, std::int64_t end) {
  for (std::int64_t i = from; i < end; ++i) to[i] = 0;
}

// Elements that vectors of pairs fill.
constexpr std::int64_t stored(std::int64_t vectors) { return (vectors + 1) / 2 * 2 * L; }

// Joins the vectors by halves, whose joins do not wait for each other.
template <int First, int Count, class Join>
ONDINE_INLINE Vec<float> joined(const Vec<float>* x, Join&& join) {
  if constexpr (Count == 1) {
    return x[First];
  } else {
    return join(joined<First, Count / 2>(x, join),
                joined<First + Count / 2, Count - Count / 2>(x, join));
  }
}
template <int Vectors>
ONDINE_INLINE float total_of(const Vec<float> (&x)[Vectors]) {
  return lane_sum<float>(
      joined<0, Vectors>(x, [](const auto& a, const auto& b) ONDINE_LAMBDA { return a + b; }));
}
template <int Vectors>
ONDINE_INLINE float largest_of(const Vec<float> (&x)[Vectors]) {
  return lane_maximum(joined<0, Vectors>(
      x, [](const auto& a, const auto& b) ONDINE_LAMBDA { return larger(a, b); }));
}

template <int Vectors>
ONDINE_INLINE void load_row(Vec<float> (&x)[Vectors], const float* from, std::int64_t rest) {
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    x[v] = v < Vectors - 1 ? load(from + v * L) : load_n(from + v * L, rest);
  }
}
template <int Vectors>
ONDINE_INLINE void store_row(float* to, const Vec<float> (&x)[Vectors], std::int64_t rest) {
#pragma GCC unroll 8
  for (int v = 0; v < Vectors - 1; ++v) store(to + v * L, x[v]);
  store_n(to + (Vectors - 1) * L, x[Vectors - 1], rest);
}
template <int Vectors>
ONDINE_INLINE void store_rounded_row(std::uint16_t* to, const Vec<float> (&x)[Vectors],
                                     std::int64_t padded) {
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; v += 2) {
    store_rounded(to + v * L, x[v], v + 1 < Vectors ? x[v + 1] : Vec<float>{});
  }
  fill_zeros(to, stored(Vectors), padded);
}

template <int Vectors>
ONDINE_INLINE void scale_all(Vec<float> (&x)[Vectors], float factor) {
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) x[v] *= factor;
}

// Weights of `Rows` rows from row `at` on.
template <int Vectors, int Rows>
void short_weights(const AttentionRows& rows, std::int64_t at, const float* mask,
                   std::int64_t mask_step, bool keep) {
  constexpr int last = Vectors - 1;
  const std::int64_t rest = rows.n - last * L;
  float* const scores = rows.values + at * rows.step;
  Vec<float> x[Rows][Vectors];
  float largest[Rows], factor[Rows];
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
    load_row(x[r], scores + r * rows.step, rest);
    scale_all(x[r], rows.scale);
    if (mask) {
      Vec<float> added[Vectors];
      load_row(added, mask + (at + r) * mask_step, rest);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) x[r][v] += added[v];
    }
    x[r][last] = first_lanes<float>(x[r][last], rest, -__builtin_inff());
  }
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) largest[r] = largest_of(x[r]);
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) x[r][v] = weight_of(x[r][v] - largest[r]);
    // Lanes past the end must stay 0, whatever the others are.
    x[r][last] = first_lanes<float>(x[r][last], rest);
  }
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) factor[r] = 1 / total_of(x[r]);
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
    scale_all(x[r], factor[r]);
    x[r][last] = first_lanes<float>(x[r][last], rest);
    if (keep) store_row(scores + r * rows.step, x[r], rest);
    store_rounded_row(rows.rounded + (at + r) * rows.rounded_step, x[r], rows.padded);
  }
}

ONDINE_INLINE bool any_of(const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (x[i] != 0) return true;
  }
  return false;
}

template <int Vectors, int Rows>
void short_gradient(const AttentionRows& rows, std::int64_t at, const float* weights) {
  constexpr int last = Vectors - 1;
  const std::int64_t rest = rows.n - last * L;
  float* const derivatives = rows.values + at * rows.step;
  Vec<float> w[Rows][Vectors], d[Rows][Vectors];
  float product[Rows];
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
    load_row(w[r], weights + (at + r) * rows.step, rest);
    load_row(d[r], derivatives + r * rows.step, rest);
    Vec<float> products[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) products[v] = w[r][v] * d[r][v];
    product[r] = total_of(products);
  }
#pragma GCC unroll 2
  for (int r = 0; r < Rows; ++r) {
    float* const to = derivatives + r * rows.step;
    const bool any = product[r] == product[r] || any_of(to, rows.n);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      d[r][v] = any ? w[r][v] * (d[r][v] - product[r]) : Vec<float>{};
    }
    d[r][last] = first_lanes<float>(d[r][last], rest);
    store_row(to, d[r], rest);
    scale_all(d[r], rows.scale);
    store_rounded_row(rows.rounded + (at + r) * rows.rounded_step, d[r], rows.padded);
  }
}

// body(i, v, load, store) of every vector of a row: v counts from 0 to 3 and begins again,
// `load(p)` and `store(p, x)` take the elements of the row that the vector has, the others are
// `rest`.
template <class Body>
ONDINE_INLINE void for_vectors(std::int64_t n, float rest, Body&& body) {
  const auto load_all = [](const float* p) ONDINE_LAMBDA { return load(p); };
  const auto store_all = [](float* p, const Vec<float>& x) ONDINE_LAMBDA { store(p, x); };
  std::int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) body(i + v * L, v, load_all, store_all);
  }
#pragma GCC unroll 3
  for (int v = 0; v < 3; ++v) {
    if (i + L > n) break;
    body(i, v, load_all, store_all);
    i += L;
  }
  if (i == n) return;
  const std::int64_t count = n - i;
  const auto load_some = [=](const float* p) ONDINE_LAMBDA {
    return first_lanes<float>(load_n(p, count), count, rest);
  };
  const auto store_some = [=](float* p, const Vec<float>& x)
                              ONDINE_LAMBDA { store_n(p, x, count); };
  body(i, 3, load_some, store_some);
}

// Stores value(i, load, store), vector by vector, rounded.
template <class Value>
ONDINE_INLINE void round_row(std::uint16_t* to, std::int64_t n, std::int64_t padded,
                             Value&& value) {
  std::int64_t at = 0;
  Vec<float> low{};
  for_vectors(n, 0, [&](std::int64_t i, int v, auto get, auto put) ONDINE_LAMBDA {
    Vec<float> x = value(i, get, put);
    if (n - i < L) x = first_lanes<float>(x, n - i);
    if (v % 2 == 0) {
      low = x;
      at = i;
    } else if (i % (2 * L) == 0) {
      store_rounded(to + i, x, Vec<float>{});
      at = i + 2 * L;
    } else {
      store_rounded(to + i - L, low, x);
      at = i + L;
    }
  });
  if (at < n) {
    store_rounded(to + at, low, Vec<float>{});
    at += 2 * L;
  }
  fill_zeros(to, at, padded);
}

void long_weights(const AttentionRows& rows, std::int64_t at, const float* mask,
                  std::int64_t mask_step, bool keep) {
  constexpr float lowest = -__builtin_inff();
  float* const scores = rows.values + at * rows.step;
  const float* const added = mask ? mask + at * mask_step : nullptr;
  Vec<float> most[4];
  for (auto& each : most) each = broadcast(lowest);
  const auto pass = [&](auto masked) ONDINE_LAMBDA {
    for_vectors(rows.n, lowest, [&](std::int64_t i, int v, auto get, auto put) ONDINE_LAMBDA {
      Vec<float> x = get(scores + i) * rows.scale;
      if constexpr (masked) x += get(added + i);
      put(scores + i, x);
      most[v] = larger(most[v], x);
    });
  };
  added ? pass(std::true_type{}) : pass(std::false_type{});
  const float largest = largest_of(most);
  Vec<float> total[4] = {};
  for_vectors(rows.n, lowest, [&](std::int64_t i, int v, auto get, auto put) ONDINE_LAMBDA {
    const Vec<float> x = weight_of(get(scores + i) - largest);
    put(scores + i, x);
    total[v] += x;
  });
  const float factor = 1 / total_of(total);
  round_row(rows.rounded + at * rows.rounded_step, rows.n, rows.padded,
            [&](std::int64_t i, auto get, auto put) ONDINE_LAMBDA {
              const Vec<float> x = get(scores + i) * factor;
              if (keep) put(scores + i, x);
              return x;
            });
}

void long_gradient(const AttentionRows& rows, std::int64_t at, const float* all_weights) {
  float* const derivatives = rows.values + at * rows.step;
  const float* const weights = all_weights + at * rows.step;
  Vec<float> total[4] = {};
  for_vectors(rows.n, 0, [&](std::int64_t i, int v, auto get, auto) ONDINE_LAMBDA {
    total[v] += get(weights + i) * get(derivatives + i);
  });
  const float product = total_of(total);
  const bool any = product == product || any_of(derivatives, rows.n);
  round_row(rows.rounded + at * rows.rounded_step, rows.n, rows.padded,
            [&](std::int64_t i, auto get, auto put) ONDINE_LAMBDA {
              Vec<float> d{};
              if (any) d = get(weights + i) * (get(derivatives + i) - product);
              put(derivatives + i, d);
              return d * rows.scale;
            });
}

// kernel(rows, at, arguments) of all rows, by kernels for 1, 2, ... vectors of two rows or one, or
// for any number of vectors of one.
template <class Kernel, class... Arguments>
ONDINE_INLINE void run_rows(const AttentionRows& rows, Kernel* const* twos, Kernel* const* ones,
                            Kernel* any, Arguments... arguments) {
  const std::int64_t vectors = (rows.n + L - 1) / L;
  std::int64_t at = 0;
  if (vectors <= most_vectors) {
    for (; at + 2 <= rows.count; at += 2) twos[vectors - 1](rows, at, arguments...);
    any = ones[vectors - 1];
  }
  for (; at < rows.count; ++at) any(rows, at, arguments...);
}

template <int... I>
void weights(const AttentionRows& rows, const float* mask, std::int64_t mask_step, bool keep,
             std::integer_sequence<int, I...>) {
  static constexpr decltype(&long_weights) twos[] = {&short_weights<I + 1, 2>...};
  static constexpr decltype(&long_weights) ones[] = {&short_weights<I + 1, 1>...};
  run_rows(rows, twos, ones, &long_weights, mask, mask_step, keep);
}

template <int... I>
void gradient(const AttentionRows& rows, const float* weights, std::integer_sequence<int, I...>) {
  static constexpr decltype(&long_gradient) twos[] = {&short_gradient<I + 1, 2>...};
  static constexpr decltype(&long_gradient) ones[] = {&short_gradient<I + 1, 1>...};
  run_rows(rows, twos, ones, &long_gradient, weights);
}

constexpr auto every_short = std::make_integer_sequence<int, int{most_vectors}>();

}  // namespace

constinit const AttentionRowKernels attention_rows = {
    [](const AttentionRows& rows, const float* mask, std::int64_t mask_step, bool keep) {
      weights(rows, mask, mask_step, keep, every_short);
    },
    [](const AttentionRows& rows, const float* weights) { gradient(rows, weights, every_short); }};

}  // namespace ondine::math::ONDINE_ISA
