// Up to 8 vectors of a row stay in registers; longer rows are passed over three times.
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

template <int Vectors>
ONDINE_INLINE Vec<float> total_of(const Vec<float> (&x)[Vectors]) {
  Vec<float> total = x[0];
#pragma GCC unroll 8
  for (int v = 1; v < Vectors; ++v) total += x[v];
  return total;
}

template <int Vectors>
ONDINE_INLINE void store_all(std::uint16_t* to, const Vec<float> (&x)[Vectors],
                             std::int64_t padded) {
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; v += 2) {
    store_rounded(to + v * L, x[v], v + 1 < Vectors ? x[v + 1] : Vec<float>{});
  }
  fill_zeros(to, stored(Vectors), padded);
}

template <int Vectors>
void short_weights(std::uint16_t* rounded, float* scores, const float* mask, float scale,
                   std::int64_t n, std::int64_t padded) {
  constexpr int last = Vectors - 1;
  const std::int64_t rest = n - last * L;
  Vec<float> x[Vectors];
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    x[v] = (v < last ? load(scores + v * L) : load_n(scores + v * L, rest)) * scale;
    if (mask) x[v] += v < last ? load(mask + v * L) : load_n(mask + v * L, rest);
  }
  x[last] = first_lanes<float>(x[last], rest, -__builtin_inff());
  Vec<float> most = x[0];
#pragma GCC unroll 8
  for (int v = 1; v < Vectors; ++v) most = larger(most, x[v]);
  const float largest = lane_maximum(most);
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) x[v] = weight_of(x[v] - largest);
  // Lanes past the end must stay 0, whatever the others are.
  x[last] = first_lanes<float>(x[last], rest);
  const float factor = 1 / lane_sum<float>(total_of(x));
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    x[v] *= factor;
    if (v < last) store(scores + v * L, x[v]);
  }
  x[last] = first_lanes<float>(x[last], rest);
  store_n(scores + last * L, x[last], rest);
  store_all(rounded, x, padded);
}

template <int Vectors>
void short_gradient(std::uint16_t* rounded, float* derivatives, const float* weights, float scale,
                    std::int64_t n, std::int64_t padded) {
  constexpr int last = Vectors - 1;
  const std::int64_t rest = n - last * L;
  Vec<float> w[Vectors], d[Vectors], products[Vectors];
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    w[v] = v < last ? load(weights + v * L) : load_n(weights + v * L, rest);
    d[v] = v < last ? load(derivatives + v * L) : load_n(derivatives + v * L, rest);
    products[v] = w[v] * d[v];
  }
  const float product = lane_sum<float>(total_of(products));
  bool any = product == product;
  for (std::int64_t i = 0; !any && i < n; ++i) any = derivatives[i] != 0;
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) d[v] = any ? w[v] * (d[v] - product) : Vec<float>{};
  d[last] = first_lanes<float>(d[last], rest);
#pragma GCC unroll 8
  for (int v = 0; v < last; ++v) store(derivatives + v * L, d[v]);
  store_n(derivatives + last * L, d[last], rest);
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) d[v] *= scale;
  store_all(rounded, d, padded);
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

ONDINE_INLINE float total_of_four(const Vec<float> (&x)[4]) {
  return lane_sum<float>((x[0] + x[1]) + (x[2] + x[3]));
}

void long_weights(std::uint16_t* rounded, float* scores, const float* mask, float scale,
                  std::int64_t n, std::int64_t padded) {
  constexpr float lowest = -__builtin_inff();
  Vec<float> most[4];
  for (auto& each : most) each = broadcast(lowest);
  const auto pass = [&](auto masked) ONDINE_LAMBDA {
    for_vectors(n, lowest, [&](std::int64_t i, int v, auto get, auto put) ONDINE_LAMBDA {
      Vec<float> x = get(scores + i) * scale;
      if constexpr (masked) x += get(mask + i);
      put(scores + i, x);
      most[v] = larger(most[v], x);
    });
  };
  mask ? pass(std::true_type{}) : pass(std::false_type{});
  const float largest = lane_maximum(larger(larger(most[0], most[1]), larger(most[2], most[3])));
  Vec<float> total[4] = {};
  for_vectors(n, lowest, [&](std::int64_t i, int v, auto get, auto put) ONDINE_LAMBDA {
    const Vec<float> x = weight_of(get(scores + i) - largest);
    put(scores + i, x);
    total[v] += x;
  });
  const float factor = 1 / total_of_four(total);
  round_row(rounded, n, padded, [&](std::int64_t i, auto get, auto put) ONDINE_LAMBDA {
    const Vec<float> x = get(scores + i) * factor;
    put(scores + i, x);
    return x;
  });
}

void long_gradient(std::uint16_t* rounded, float* derivatives, const float* weights, float scale,
                   std::int64_t n, std::int64_t padded) {
  Vec<float> total[4] = {};
  for_vectors(n, 0, [&](std::int64_t i, int v, auto get, auto) ONDINE_LAMBDA {
    total[v] += get(weights + i) * get(derivatives + i);
  });
  const float product = total_of_four(total);
  bool any = product == product;
  for (std::int64_t i = 0; !any && i < n; ++i) any = derivatives[i] != 0;
  round_row(rounded, n, padded, [&](std::int64_t i, auto get, auto put) ONDINE_LAMBDA {
    Vec<float> d{};
    if (any) d = get(weights + i) * (get(derivatives + i) - product);
    put(derivatives + i, d);
    return d * scale;
  });
}

template <int... I>
void weights(std::uint16_t* rounded, float* scores, const float* mask, float scale, std::int64_t n,
             std::int64_t padded, std::integer_sequence<int, I...>) {
  static constexpr decltype(&long_weights) all[] = {&short_weights<I + 1>...};
  const std::int64_t vectors = (n + L - 1) / L;
  (vectors > most_vectors ? &long_weights : all[vectors - 1])(rounded, scores, mask, scale, n,
                                                              padded);
}

template <int... I>
void gradient(std::uint16_t* rounded, float* derivatives, const float* weights, float scale,
              std::int64_t n, std::int64_t padded, std::integer_sequence<int, I...>) {
  static constexpr decltype(&long_gradient) all[] = {&short_gradient<I + 1>...};
  const std::int64_t vectors = (n + L - 1) / L;
  (vectors > most_vectors ? &long_gradient : all[vectors - 1])(rounded, derivatives, weights, scale,
                                                               n, padded);
}

constexpr auto every_short = std::make_integer_sequence<int, int{most_vectors}>();

}  // namespace

constinit const AttentionRowKernels attention_rows = {
    [](std::uint16_t* rounded, float* scores, const float* mask, float scale, std::int64_t n,
       std::int64_t padded) { weights(rounded, scores, mask, scale, n, padded, every_short); },
    [](std::uint16_t* rounded, float* derivatives, const float* weights, float scale,
       std::int64_t n, std::int64_t padded) {
      gradient(rounded, derivatives, weights, scale, n, padded, every_short);
    }};

}  // namespace ondine::math::ONDINE_ISA
