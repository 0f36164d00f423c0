// Products by a matrix of few bits whose columns of a term follow each other: the sums of some
// columns at a time.
#pragma once

#include "kernels/simd/quantize/stored_elements.h"

namespace ondine::math::ONDINE_ISA {

// Strip of a product: rows from i and columns from j on, and terms p to p + terms, which have one
// scale.
struct StoredStrip {
  std::int64_t i, j, columns, p, terms;
  // Bytes from an element to one that is wanted soon, and numbers from a scale to such a one.
  std::int64_t ahead = 0, scales_ahead = 0;

  ONDINE_MEMBER std::int64_t scale_at(const StoredMatrix& b) const {
    return p / b.block * b.block_step + j * b.column_step;
  }
};

inline constexpr int strip_vectors = 8;
inline constexpr std::int64_t strip_columns = strip_vectors * lanes<float>;

// A product that is not contracted with a sum: strips of all widths give the same bits.
ONDINE_INLINE Vec<float> rounded(Vec<float> product) {
#if defined(__AVX512F__)
  asm("" : "+v"(product));
#elif defined(__SSE2__)
  asm("" : "+x"(product));
#elif defined(__aarch64__)
  asm("" : "+w"(product));
#else
  asm("" : "+m"(product));
#endif
  return product;
}

template <StoredAs As, int Vectors>
ONDINE_INLINE void load_zero_points(Vec<float> (&zeros)[Vectors], const StoredMatrix& b,
                                    const StoredStrip& s) {
  float each[Vectors * lanes<float>];
  for (std::int64_t c = 0; c < Vectors * lanes<float>; ++c) {
    each[c] = c < s.columns ? zero_point(b, s.scale_at(b) + c * b.column_step) : 0;
  }
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; v += 2) {
    zeros[v] = load(each + v * lanes<float>);
    zeros[v + 1] = load(each + (v + 1) * lanes<float>);
    if constexpr (Elements<As>::pairs) separate(zeros[v], zeros[v + 1]);
  }
}

// Adds the sums, times the scales, to C. The bias comes last, as a node behind the product adds it.
template <StoredAs As, int Rows, int Vectors, bool Partial>
ONDINE_INLINE void add_scaled(const StoredProductCall& call, const StoredStrip& s,
                              Vec<float> (&acc)[Rows][Vectors]) {
  constexpr int L = lanes<float>;
  const StoredMatrix& b = *call.b;
  const float* const scales = b.scales + s.scale_at(b);
  const bool is_last = s.p + s.terms == b.k;
  const auto left = [&](int v) __attribute__((always_inline)) {
    return Partial ? s.columns - v * L : L;
  };
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    float* const c = call.c + (s.i + i) * call.ldc + s.j;
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      if constexpr (Elements<As>::pairs) {
        if (v % 2 == 0) interleave(acc[i][v], acc[i][v + 1]);
      }
      if (left(v) <= 0) continue;
      const Vec<float> scale =
          b.column_step == 0 ? broadcast(scales[0]) : load_some(scales + v * L, left(v));
      const Vec<float> scaled = rounded(acc[i][v] * scale);
      Vec<float> sum{};
      if (s.p > 0) sum = load_some(c + v * L, left(v));
      sum += scaled;
      if (is_last && call.bias != nullptr) sum += load_some(call.bias + s.j + v * L, left(v));
      if (left(v) >= L) {
        store(c + v * L, sum);
      } else {
        store_n(c + v * L, sum, left(v));
      }
    }
  }
}

template <int Vectors>
ONDINE_INLINE void prefetch_scales(const StoredMatrix& b, const StoredStrip& s) {
  if (b.column_step == 0) return;
  const float* const scales = b.scales + s.scale_at(b) + s.scales_ahead;
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) __builtin_prefetch(scales + v * lanes<float>, 0, 2);
}

template <StoredAs As, int Rows, int Vectors, bool Zeros, bool Partial>
static void sum_columns(const StoredProductCall& call, const StoredStrip& s) {
  static_assert(Vectors % 2 == 0 && (!Partial || Vectors == 2));
  using E = Elements<As>;
  constexpr std::int64_t line = 64;
  const StoredMatrix& b = *call.b;
  const E elements(b.levels);
  Vec<float> acc[Rows][Vectors] = {};
  Vec<float> zeros[Vectors];
  if constexpr (Zeros) load_zero_points<As>(zeros, b, s);
  if constexpr (!Partial) prefetch_scales<Vectors>(b, s);
  const float* a = call.a + s.i * call.a_row + s.p;
  const std::int64_t step = E::size_of(b.n);
  const std::uint8_t* from = b.elements + s.p * step + E::size_of(s.j);
  for (std::int64_t p = 0; p < s.terms; ++p, ++a, from += step) {
    if constexpr (!Partial) {
#pragma GCC unroll 16
      for (std::int64_t at = 0; at < Vectors * E::vector_size; at += line) {
        __builtin_prefetch(from + s.ahead + at, 0, 2);
      }
    }
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; v += 2) {
      Vec<float> row[2];
      if constexpr (Partial) {
        elements.read_n(from, s.columns, row[0], row[1]);
      } else {
        elements.read(from + v * E::vector_size, row[0], row[1]);
      }
      if constexpr (Zeros) {
        row[0] -= zeros[v];
        row[1] -= zeros[v + 1];
      }
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const Vec<float> factor = broadcast(a[i * call.a_row]);
        acc[i][v] += factor * row[0];
        acc[i][v + 1] += factor * row[1];
      }
    }
  }
  add_scaled<As, Rows, Vectors, Partial>(call, s, acc);
}

template <StoredAs As, int Rows, int Vectors, bool Partial = false>
ONDINE_INLINE void sum_rows(const StoredProductCall& call, const StoredStrip& s) {
  if (call.b->zero_points != nullptr) {
    sum_columns<As, Rows, Vectors, true, Partial>(call, s);
  } else {
    sum_columns<As, Rows, Vectors, false, Partial>(call, s);
  }
}

// The next Rows rows of a whole strip, some vectors at a time.
template <StoredAs As, int Rows, int Vectors>
ONDINE_INLINE void sum_next_rows(const StoredProductCall& call, StoredStrip& s) {
  StoredStrip part = s;
  part.columns = Vectors * lanes<float>;
  for (int v = 0; v < strip_vectors; v += Vectors, part.j += part.columns) {
    sum_rows<As, Rows, Vectors>(call, part);
  }
  s.i += Rows;
  s.ahead = s.scales_ahead = 0;  // what the next rows read is in the cache
}

template <StoredAs As>
void sum_strip(const StoredProductCall& call, StoredStrip s) {
  constexpr int of_four = has_many_registers ? 4 : 2, of_two = 2 * of_four;
  while (s.i + 4 <= call.m) sum_next_rows<As, 4, of_four>(call, s);
  if (s.i + 2 <= call.m) sum_next_rows<As, 2, of_two>(call, s);
  if (s.i < call.m) sum_next_rows<As, 1, strip_vectors>(call, s);
}

// Fewer columns than a strip.
template <StoredAs As>
void sum_rest(const StoredProductCall& call, StoredStrip s) {
  constexpr std::int64_t two = 2 * lanes<float>;
  const std::int64_t end = s.j + s.columns;
  for (; s.j < end; s.j += two) {
    s.columns = lesser(two, end - s.j);
    for (s.i = 0; s.i < call.m; ++s.i) {
      if (s.columns == two) {
        sum_rows<As, 1, 2>(call, s);
      } else {
        sum_rows<As, 1, 2, true>(call, s);
      }
    }
  }
}

// The strip from column j on. What the second one after it reads is on its way meanwhile: a strip
// is computed in less time than memory takes to answer.
template <StoredAs As>
ONDINE_INLINE StoredStrip strip_at(const StoredProductCall& call, std::int64_t j, std::int64_t p,
                                   std::int64_t terms) {
  using E = Elements<As>;
  const StoredMatrix& b = *call.b;
  const std::int64_t whole = (call.last - call.first) / strip_columns * strip_columns;
  std::int64_t columns = 2 * strip_columns, lines = 0, scales = 0;
  for (; j - call.first + columns >= whole; columns -= whole) {  // among the next terms
    lines += terms * E::size_of(b.n);
    scales += b.block_step;
  }
  return {0, j, strip_columns, p, terms, lines + E::size_of(columns), scales + columns};
}

// A few terms for all columns, then the next: memory is read about as it lies.
template <StoredAs As>
void run_by_strips(const StoredProductCall& call) {
  constexpr std::int64_t most_terms = 64;
  const StoredMatrix& b = *call.b;
  for (std::int64_t p = 0; p < b.k;) {
    const std::int64_t terms = lesser(lesser(b.block - p % b.block, b.k - p), most_terms);
    std::int64_t j = call.first;
    for (; j + strip_columns <= call.last; j += strip_columns) {
      sum_strip<As>(call, strip_at<As>(call, j, p, terms));
    }
    if (j < call.last) sum_rest<As>(call, {0, j, call.last - j, p, terms});
    p += terms;
  }
}

}  // namespace ondine::math::ONDINE_ISA
