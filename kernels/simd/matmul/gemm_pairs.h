// C = alpha A B + beta C on one thread, with A and B rounded to bfloat16 (to nearest, ties to even)
// and products accumulated in float32: the loops over blocks. A and B are rounded while they are
// packed, as pairs of elements that follow each other in k. Denormal numbers count as zeros. A may
// have been rounded before; then it is read where it lies. A and B may be stored in bfloat16.
#pragma once

#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/gemm_micro.h"
#include "kernels/simd/matmul/gemm_pack_bf16.h"
#include "kernels/simd/matmul/prefetch_ahead.h"

namespace ondine::math::ONDINE_FULL_ISA {
extern const GemmKernels<float> gemm_f32;
}

namespace ondine::math::ONDINE_ISA {

// Where packed pairs of A lie: (row i, pair q) of the row `ii` of a block and those that a micro
// kernel takes with it is at ii step + i row + q col.
struct PackedRows {
  std::int64_t step, row, col;
};

// Whether rows are so many elements apart that no processor prefetches them by itself: passing over
// them again is slow.
ONDINE_INLINE bool is_far(std::int64_t row) { return row >= 16384; }

// Kernel:
//   takes_pairs                 of A that lie beside each other (GemmCall::pairs)
//   nr, block_m                 columns of a panel of B, rows of a block of A
//   block_k(ldc), most_k        terms of a block, and most of them
//   block_pairs                 of a block of B
//   apart                       pairs between two panels of B
//   by_rows                     whether the rows of a block stay while panels of B change
//   unit_k                      terms that are multiplied together (GemmKernels)
//   biases_first                whether the first block of k adds the biases (GemmKernels)
//   rows_ahead                  of B that are prefetched while it is packed
//   prefetches                  whether what is packed next is asked for between multiplications
//   rows_of(m)                  rows that a micro kernel takes
//   a_elements(m, pairs)        pairs that a packed block of A takes at most
//   packed_rows(mr, pairs)
//   pack_a(to, g, i, mc, mr, p, kc)
//   run(block, rows, cols, ahead)
//                               block.k counts pairs; takes ahead.steps(block.k) steps of `ahead`
template <class Kernel>
struct PairGemm {
  static constexpr std::int64_t nr = Kernel::nr;
  static constexpr std::int64_t most_k = Kernel::most_k;
  static constexpr std::int64_t block_pairs = Kernel::block_pairs;
  static constexpr std::int64_t padding = 64;

  static bool is_empty(const GemmCall<float>& g) { return g.m == 0 || g.n == 0 || g.k == 0; }

  static GemmBlocking blocking(const GemmCall<float>& g) {
    GemmBlocking cut;
    if (is_empty(g)) return cut;
    cut.path = GemmPath::blocked_bf16;
    cut.pack_a = !g.a_paired && !g.pairs;
    cut.pack_b = !g.b_packed && !g.pairs;
    cut.mr = Kernel::rows_of(g.m);
    cut.mc = divide_up(even_chunk(g.m, Kernel::block_m), cut.mr) * cut.mr;
    cut.kc = g.block_k > 0 ? min_of(g.block_k, most_k)
                           : divide_up(even_chunk(g.k, Kernel::block_k(g.ldc)), 16) * 16;
    return cut;
  }

  // Sums of several blocks of k are added in float32.
  static bool rounds_result(const GemmCall<float>& g) {
    return !is_empty(g) && blocking(g).kc >= g.k;
  }

  // Columns of B that are packed together, just before they are multiplied the first time. Without
  // prefetching all of a block are: processors prefetch long rows by themselves.
  static constexpr std::int64_t group_n = Kernel::prefetches ? 4 * nr : Kernel::block_pairs;
  // Terms of B that are packed together: those of several blocks where they follow each other in
  // memory, which is then read in longer rows, unless columns are packed just before they are used.
  static std::int64_t deep_of(const GemmCall<float>& g, const GemmBlocking& cut) {
    if (!cut.pack_b || g.b_row != 1 || Kernel::prefetches) return cut.kc;
    return most_k / cut.kc * cut.kc;
  }
  static std::int64_t block_n(std::int64_t kc) {
    constexpr std::int64_t unit = 4 * nr;
    return block_pairs / pairs_of(kc) / unit * unit;
  }

  // Bounds that grow with m, n and k, so that the largest tile of a product says what all need.
  static std::int64_t a_elements(const GemmCall<float>& g) {
    if (g.a_paired || g.pairs) return 0;
    return Kernel::a_elements(min_of(g.m, Kernel::block_m), pairs_of(min_of(g.k, most_k))) +
           padding;
  }
  static std::int64_t b_elements(const GemmCall<float>& g) {
    if (g.b_packed || g.pairs) return 0;
    const std::int64_t panels = divide_up(g.n, nr);
    const std::int64_t all = panels * nr * pairs_of(min_of(g.k, most_k));
    return min_of(all, block_pairs) + panels * Kernel::apart + padding;
  }
  static std::int64_t scratch_bytes(const GemmCall<float>& g) {
    if (is_empty(g) || g.alpha == 0) return 0;
    return (a_elements(g) + b_elements(g)) * std::int64_t{sizeof(Pair)};
  }

  // `step`: from a panel to the next.
  static void pack_b_block(Pair* to, std::int64_t step, const GemmCall<float>& g, std::int64_t p,
                           std::int64_t kc, std::int64_t j, std::int64_t nc) {
    const Elements<const float> b = g.b + (p * g.b_row + j * g.b_col);
    const Panels panels{to, nr, step, Kernel::rows_ahead};
    if (!b.is_bf16()) return pack_b_elements(panels, FloatElements{b.plain()}, g, kc, nc);
    pack_b_elements(panels, Bf16Elements{b.bf16()}, g, kc, nc);
  }
  template <class Source>
  static void pack_b_elements(const Panels& panels, Source b, const GemmCall<float>& g,
                              std::int64_t kc, std::int64_t nc) {
    if (g.b_col == 1) return pack_beside(panels, b, g.b_row, nc, kc);
    pack_along(panels, b, g.b_col, nc, kc);
  }

  // All of B: panels of pairs_of(k) x nr, as those of float32 are k x nr.
  static void pack_whole_b(const GemmCall<float>& g, float* panels) {
    const std::int64_t step = nr * pairs_of(g.packed_k > 0 ? g.packed_k : g.k);
    for (std::int64_t p = 0; p < g.k; p += most_k) {
      pack_b_block(panels + p / 2 * nr, step, g, p, min_of(most_k, g.k - p), 0, g.n);
    }
  }

  static void round_a(const GemmCall<float>& g, float* rounded, std::int64_t row) {
    visit_a(g, 0, 0, [&](auto a) { round_rows(rounded, row, a, g.a_row, g.m, g.k); });
  }

  // Rows [i, i + mc) and columns [j, j + nc) of C, with [p, p + kc) of k. Panels of B are b_step
  // elements apart.
  struct Part {
    std::int64_t i, mc, j, nc, p, kc, b_step;
  };

  // Where the pairs of A lie.
  static const Pair* place_a(const GemmCall<float>& g, std::int64_t i, std::int64_t p) {
    return g.a.plain() + (g.pairs ? i + p / 2 * g.a_col : i * g.a_row + p / 2);
  }

  static void run_part(Kernel& kernel, const GemmCall<float>& g, std::int64_t mr,
                       const Pair* a_packed, const Pair* b_panels, const Part& at,
                       NextFactors& ahead) {
    const bool first = at.p == 0;
    const bool last = at.p + at.kc == g.k;
    const bool biased = Kernel::biases_first ? first : last;
    const std::int64_t pairs = pairs_of(at.kc);
    const PackedRows packed = Kernel::packed_rows(mr, pairs);
    Block<float> block{};
    block.k = pairs;
    block.ldc = g.ldc;
    block.rows_each = c_rows_each(g, pairs);
    const bool in_place = g.a_paired || g.pairs;
    block.a_row = in_place ? g.a_row : packed.row;
    block.a_col = in_place ? g.a_col : packed.col;
    block.b_row = g.pairs ? g.b_row : nr;
    const auto run = [&](std::int64_t ii, std::int64_t jj) {
      const std::int64_t i = at.i + ii;
      const std::int64_t c = i * g.ldc + at.j + jj;
      block.a = in_place ? place_a(g, i, at.p) : a_packed + ii * packed.step;
      block.b = b_panels + jj / nr * at.b_step;
      if (g.c.is_bf16()) {
        block.bf16 = g.c.bf16() + c;
      } else {
        block.c = g.c.plain() + c;
      }
      block.epilogue = {g.alpha,
                        first ? g.beta : 1.0F,
                        biased && g.col_bias ? g.col_bias + at.j + jj : nullptr,
                        biased && g.row_bias ? g.row_bias + i : nullptr,
                        last ? g.activation : Activation::none,
                        first && g.addend ? g.addend + c : nullptr};
      kernel.run(block, min_of(mr, at.mc - ii), min_of(nr, at.nc - jj), ahead);
    };
    if constexpr (Kernel::by_rows) {
      for (std::int64_t ii = 0; ii < at.mc; ii += mr) {
        for (std::int64_t jj = 0; jj < at.nc; jj += nr) run(ii, jj);
      }
    } else {
      for (std::int64_t jj = 0; jj < at.nc; jj += nr) {
        for (std::int64_t ii = 0; ii < at.mc; ii += mr) run(ii, jj);
      }
    }
  }

  // Rows [p, p + kc) and columns [j, j + nc) of B, which often comes from memory.
  static PrefetchAhead prefetch_b(const GemmCall<float>& g, std::int64_t p, std::int64_t kc,
                                  std::int64_t j, std::int64_t nc, std::int64_t steps) {
    return PrefetchAhead::matrix((g.b + (p * g.b_row + j * g.b_col)).memory(),
                                 element_bytes<float>(g.b.storage()), kc, nc, g.b_row, g.b_col,
                                 steps);
  }

  // From a panel of B to the next.
  static std::int64_t panel_step(const GemmCall<float>& g, std::int64_t kc) {
    if (g.pairs) return nr;
    if (g.b_packed) return nr * pairs_of(g.packed_k > 0 ? g.packed_k : g.k);
    return nr * pairs_of(kc) + Kernel::apart;
  }

  // The block of A after that of a part: further rows, or the first of the next block of k.
  static PrefetchAhead prefetch_a(const GemmCall<float>& g, const GemmBlocking& cut,
                                  const Part& at) {
    const bool more = at.i + at.mc < g.m;
    const std::int64_t i = more ? at.i + at.mc : 0;
    const std::int64_t p = more ? at.p : at.p + at.kc;
    const bool wanted = Kernel::prefetches || is_far(g.a_row);
    if (!wanted || !cut.pack_a || p >= g.k) return {};
    const std::int64_t steps =
        divide_up(at.mc, cut.mr) * divide_up(at.nc, nr) * PrefetchAhead::steps(pairs_of(at.kc));
    return PrefetchAhead::matrix(g.a.plain() + i * g.a_row + p * g.a_col, 4, min_of(at.mc, g.m - i),
                                 min_of(at.kc, g.k - p), g.a_row, g.a_col, steps);
  }

  // The first block of rows, for which B is packed by groups of columns.
  static void run_packing(Kernel& kernel, const GemmCall<float>& g, std::int64_t mr,
                          const Pair* a_block, Pair* b_block, const Part& at, std::int64_t depth,
                          NextFactors& ahead) {
    const std::int64_t steps =
        divide_up(at.mc, mr) * (group_n / nr) * PrefetchAhead::steps(pairs_of(at.kc));
    for (std::int64_t jj = 0; jj < at.nc; jj += group_n) {
      const std::int64_t width = min_of(group_n, at.nc - jj);
      Pair* const panels = b_block + jj / nr * at.b_step;
      pack_b_block(panels, at.b_step, g, at.p, depth, at.j + jj, width);
      // The next group, or the first of the next block of k.
      const bool more = jj + group_n < at.nc;
      const std::int64_t p = more ? at.p : at.p + at.kc;
      const std::int64_t j = more ? jj + group_n : 0;
      if (Kernel::prefetches) {
        ahead.b =
            prefetch_b(g, p, min_of(at.kc, g.k - p), at.j + j, min_of(group_n, at.nc - j), steps);
      }
      run_part(kernel, g, mr, a_block, panels,
               {at.i, at.mc, at.j + jj, width, at.p, at.kc, at.b_step}, ahead);
    }
  }

  static void run_blocks(const GemmCall<float>& g, const GemmBlocking& cut, void* scratch) {
    Kernel kernel;
    Pair* const b_block = static_cast<Pair*>(scratch);
    Pair* const a_block = b_block + b_elements(g);
    const std::int64_t deep = deep_of(g, cut);
    const std::int64_t block = block_n(deep);
    for (std::int64_t j = 0; j < g.n; j += block) {
      const std::int64_t nc = min_of(block, g.n - j);
      for (std::int64_t p = 0; p < g.k; p += cut.kc) {
        const std::int64_t kc = min_of(cut.kc, g.k - p);
        const std::int64_t start = p / deep * deep;
        const std::int64_t depth = min_of(deep, g.k - start);
        const std::int64_t b_step = panel_step(g, depth);
        const Pair* b_panels = b_block + (p - start) / 2 * nr;
        if (g.pairs) {
          b_panels = g.b.plain() + j + p / 2 * g.b_row;
        } else if (g.b_packed) {
          b_panels = g.b.plain() + j / nr * b_step + p / 2 * nr;
        }
        for (std::int64_t i = 0; i < g.m; i += cut.mc) {
          const Part part{i, min_of(cut.mc, g.m - i), j, nc, p, kc, b_step};
          if (cut.pack_a) Kernel::pack_a(a_block, g, i, part.mc, cut.mr, p, kc);
          NextFactors ahead;
          ahead.a = prefetch_a(g, cut, part);
          if (i == 0 && j == 0 && p == 0 && g.next.rows > 0) {
            ahead.b = {g.next, divide_up(part.mc, cut.mr) * divide_up(nc, nr) *
                                   PrefetchAhead::steps(pairs_of(kc))};
          }
          if (i == 0 && cut.pack_b && p == start) {
            run_packing(kernel, g, cut.mr, a_block, b_block, part, depth, ahead);
          } else {
            run_part(kernel, g, cut.mr, a_block, b_panels, part, ahead);
          }
        }
      }
    }
  }

  static void run_blocking(const GemmCall<float>& g, const GemmBlocking& chosen, void* scratch) {
    if (chosen.path == GemmPath::no_product || g.alpha == 0) {
      return ONDINE_FULL_ISA::gemm_f32.run_blocking(g, GemmBlocking{}, scratch);
    }
    run_blocks(g, chosen, scratch);
  }

  static void run(const GemmCall<float>& g, void* scratch) {
    run_blocking(g, blocking(g), scratch);
  }

  static constexpr GemmKernels<float> table = {nr,
                                               &blocking,
                                               &scratch_bytes,
                                               &run,
                                               &run_blocking,
                                               &pack_whole_b,
                                               &round_a,
                                               Kernel::takes_pairs,
                                               Kernel::biases_first,
                                               Kernel::unit_k,
                                               2,
                                               nullptr,
                                               &rounds_result};
};

}  // namespace ondine::math::ONDINE_ISA
