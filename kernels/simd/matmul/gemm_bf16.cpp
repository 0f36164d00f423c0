// Products of pairs of bfloat16 (gemm_pairs.h) in vectors, for processors with AVX512-BF16: one
// instruction multiplies pairs and adds both products to an accumulator.
#include "kernels/simd/matmul/gemm_pairs.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int L = lanes<float>;

// Rows x (Vectors lanes) elements of C. Panels of A are `mr` wide, those of B `nr`. UnitRow: a_row
// is 1.
template <int Rows, int Vectors, Edge E, bool UnitRow>
void micro_pairs(const Block<float>& block, NextFactors& ahead) {
  Vec<float> acc[Rows][Vectors];
  const bool has_biases = begin_block<float, Rows, Vectors, E>(acc, block);
  const std::int64_t a_row = UnitRow ? 1 : block.a_row;
  const Pair* a = block.a;
  const Pair* b = block.b;
  std::int64_t fetched = 0;
  for (std::int64_t left = block.k; left > 0; left -= PrefetchAhead::terms) {
    prefetch_c<float, Rows, Vectors, true>(block, fetched);
    ahead.step();
    for (std::int64_t q = min_of(left, PrefetchAhead::terms); q > 0; --q) {
      Vec<Pair> row[Vectors];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * L);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const Vec<Pair> factor = broadcast_pair(a + i * a_row);
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v) acc[i][v] = add_pair_products(acc[i][v], factor, row[v]);
      }
      a += block.a_col;
      b += block.b_row;
    }
  }
  finish_block<float, Rows, Vectors, E, true>(acc, block, has_biases);
}

using Micro = void (*)(const Block<float>&, NextFactors&);

template <int Vectors, Edge E, bool UnitRow, int... I>
constexpr Micro pick_rows(int rows, std::integer_sequence<int, I...>) {
  constexpr Micro all[] = {&micro_pairs<I + 1, Vectors, E, UnitRow>...};
  return all[rows - 1];
}

template <bool UnitRow>
Micro pick(int rows, bool two, bool tail) {
  using enum Edge;
  constexpr auto every = std::make_integer_sequence<int, max_rows>();
  if (two) {
    return tail ? pick_rows<2, padded, UnitRow>(rows, every)
                : pick_rows<2, whole, UnitRow>(rows, every);
  }
  return pick_rows<1, padded, UnitRow>(rows, every);  // as fast as a form for whole vectors
}

struct VectorKernel {
  static constexpr bool takes_pairs = true;
  static constexpr std::int64_t nr = panel<float>;
  // A block of A stays in a second cache of 1 MB together with one of B. C is passed over once for
  // each block of k, so that these are large.
  static constexpr std::int64_t block_m = 144;
  static constexpr std::int64_t most_k = 768;
  static std::int64_t block_k(std::int64_t) { return most_k; }
  static constexpr std::int64_t block_pairs = 96 << 10;
  static constexpr std::int64_t apart = 0;
  static constexpr bool by_rows = false;
  static constexpr bool biases_first = false;
  static constexpr std::int64_t unit_k = 2;
  static constexpr std::int64_t rows_ahead = 24;
  static constexpr bool prefetches = true;

  static std::int64_t rows_of(std::int64_t m) { return even_chunk(m, max_rows); }
  static std::int64_t a_elements(std::int64_t m, std::int64_t pairs) {
    return (m + max_rows) * pairs;
  }
  static PackedRows packed_rows(std::int64_t mr, std::int64_t pairs) { return {pairs, 1, mr}; }

  static void pack_a(Pair* to, const GemmCall<float>& g, std::int64_t i, std::int64_t mc,
                     std::int64_t mr, std::int64_t p, std::int64_t kc) {
    const Panels panels{to, mr, mr * pairs_of(kc), rows_ahead};
    visit_a(g, i, p, [&](auto a) {
      if (g.a_row == 1) return pack_beside(panels, a, g.a_col, mc, kc);
      pack_along(panels, a, g.a_row, mc, kc);
    });
  }

  // Most calls are of blocks as large as the one before; A lies in one way in all of a product.
  void run(Block<float>& block, std::int64_t rows, std::int64_t cols, NextFactors& ahead) {
    const bool two = cols > L;
    block.last = two ? cols - L : cols;
    if (rows != rows_ || cols != cols_) {
      const auto count = static_cast<int>(rows);
      micro_ = (block.a_row == 1 ? pick<true> : pick<false>)(count, two, cols % L != 0);
      rows_ = rows;
      cols_ = cols;
    }
    micro_(block, ahead);
  }

 private:
  Micro micro_ = nullptr;
  std::int64_t rows_ = 0, cols_ = 0;
};

}  // namespace

constinit const GemmKernels<float> gemm_f32 = PairGemm<VectorKernel>::table;

}  // namespace ondine::math::ONDINE_ISA
