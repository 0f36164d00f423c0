// C = alpha A B + beta C on one thread, with A and B rounded to bfloat16 (to nearest, ties to even)
// and products accumulated in float32: for processors with AVX512-BF16. A and B are rounded while
// they are packed, as pairs of elements that follow each other in k: one instruction multiplies
// pairs and adds both products to an accumulator. Denormal numbers count as zeros. A may have been
// rounded before; then it is read where it lies.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/gemm_micro.h"
#include "kernels/simd/matmul/gemm_pack_bf16.h"

namespace ondine::math::avx512 {
extern const GemmKernels<float> gemm_f32;
}

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int L = lanes<float>;
constexpr std::int64_t nr = panel<float>;
// A block of A stays in a second cache of 1 MB together with one of B.
constexpr std::int64_t block_k = 512;
constexpr std::int64_t block_n = 512;
constexpr std::int64_t block_m = 144;
constexpr std::int64_t padding = 64;

ONDINE_INLINE std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
ONDINE_INLINE std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
ONDINE_INLINE std::int64_t even_chunk(std::int64_t n, std::int64_t max) {
  return divide_up(n, divide_up(n, max));
}

// Rows x (Vectors lanes) elements of C. Panels of A are `mr` wide, those of B `nr`. UnitRow: a_row
// is 1.
template <int Rows, int Vectors, Edge E, bool UnitRow>
void micro_pairs(const Block<float>& block) {
  Vec<float> acc[Rows][Vectors] = {};
  const std::int64_t a_row = UnitRow ? 1 : block.a_row;
  const Pair* a = block.a;
  const Pair* b = block.b;
  for (std::int64_t q = 0; q < block.k; ++q) {
    __m512bh row[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) row[v] = reinterpret_cast<__m512bh>(load(b + v * L));
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      std::int32_t pair;
      __builtin_memcpy(&pair, a + i * a_row, sizeof(pair));
      const __m512bh factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        acc[i][v] = reinterpret_cast<Vec<float>>(
            _mm512_dpbf16_ps(reinterpret_cast<__m512>(acc[i][v]), factor, row[v]));
      }
    }
    a += block.a_col;
    b += block.b_row;
  }
  finish_block<float, Rows, Vectors, E>(acc, block);
}

using Micro = void (*)(const Block<float>&);

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
  return tail ? pick_rows<1, padded, UnitRow>(rows, every)
              : pick_rows<1, whole, UnitRow>(rows, every);
}

bool is_empty(const GemmCall<float>& g) { return g.m == 0 || g.n == 0 || g.k == 0; }

GemmBlocking blocking(const GemmCall<float>& g) {
  GemmBlocking cut;
  if (is_empty(g)) return cut;
  cut.path = GemmPath::blocked_bf16;
  cut.pack_a = !g.a_rounded;
  cut.pack_b = !g.b_packed;
  cut.mr = even_chunk(g.m, max_rows);
  cut.mc = divide_up(even_chunk(g.m, block_m), cut.mr) * cut.mr;
  cut.kc = block_k;
  return cut;
}

// Bounds that grow with m, n and k, so that the largest tile of a product says what all need.
std::int64_t a_elements(const GemmCall<float>& g) {
  if (g.a_rounded) return 0;
  return (min_of(g.m, block_m) + max_rows) * pairs_of(min_of(g.k, block_k)) + padding;
}
std::int64_t b_elements(const GemmCall<float>& g) {
  if (g.b_packed) return 0;
  return divide_up(min_of(g.n, block_n), nr) * nr * pairs_of(min_of(g.k, block_k)) + padding;
}
std::int64_t scratch_bytes(const GemmCall<float>& g) {
  if (is_empty(g) || g.alpha == 0) return 0;
  return (a_elements(g) + b_elements(g)) * std::int64_t{sizeof(Pair)};
}

// `step`: from a panel to the next.
void pack_b_block(Pair* to, std::int64_t step, const GemmCall<float>& g, std::int64_t p,
                  std::int64_t kc, std::int64_t j, std::int64_t nc) {
  const float* const b = g.b + p * g.b_row + j * g.b_col;
  const Panels panels{to, nr, step};
  if (g.b_col == 1) return pack_beside(panels, b, g.b_row, nc, kc);
  pack_along(panels, b, g.b_col, nc, kc);
}

void pack_a_block(Pair* to, const GemmCall<float>& g, std::int64_t i, std::int64_t mc,
                  std::int64_t mr, std::int64_t p, std::int64_t kc) {
  const float* const a = g.a + i * g.a_row + p * g.a_col;
  const Panels panels{to, mr, mr * pairs_of(kc)};
  if (g.a_row == 1) return pack_beside(panels, a, g.a_col, mc, kc);
  pack_along(panels, a, g.a_row, mc, kc);
}

// All of B: panels of pairs_of(k) x nr, as those of float32 are k x nr.
void pack_whole_b(const GemmCall<float>& g, float* panels) {
  for (std::int64_t p = 0; p < g.k; p += block_k) {
    pack_b_block(panels + p / 2 * nr, nr * pairs_of(g.k), g, p, min_of(block_k, g.k - p), 0, g.n);
  }
}

// Rows [i, i + mc) and columns [j, j + nc) of C, with [p, p + kc) of k. Panels of B are b_step
// elements apart.
struct Part {
  std::int64_t i, mc, j, nc, p, kc, b_step;
};

void run_part(const GemmCall<float>& g, std::int64_t mr, const Pair* a_panels, const Pair* b_panels,
              const Part& at) {
  const bool first = at.p == 0;
  const bool last = at.p + at.kc == g.k;
  const std::int64_t pairs = pairs_of(at.kc);
  Block<float> block{};
  block.k = pairs;
  block.ldc = g.ldc;
  block.a_row = g.a_rounded ? g.a_row : 1;
  block.a_col = g.a_rounded ? 1 : mr;
  block.b_row = nr;
  for (std::int64_t jj = 0; jj < at.nc; jj += nr) {
    const std::int64_t cols = min_of(nr, at.nc - jj);
    const bool two = cols > L;
    block.b = b_panels + jj / nr * at.b_step;
    block.last = two ? cols - L : cols;
    for (std::int64_t ii = 0; ii < at.mc; ii += mr) {
      const std::int64_t i = at.i + ii;
      const std::int64_t c = i * g.ldc + at.j + jj;
      block.a = g.a_rounded ? g.a + i * g.a_row + at.p / 2 : a_panels + ii * pairs;
      block.c = g.c + c;
      block.epilogue = {g.alpha,
                        first ? g.beta : 1.0F,
                        last && g.col_bias ? g.col_bias + at.j + jj : nullptr,
                        last && g.row_bias ? g.row_bias + i : nullptr,
                        last ? g.activation : Activation::none,
                        first && g.addend ? g.addend + c : nullptr};
      const int rows = static_cast<int>(min_of(mr, at.mc - ii));
      (block.a_row == 1 ? pick<true> : pick<false>)(rows, two, cols % L != 0)(block);
    }
  }
}

void run_blocks(const GemmCall<float>& g, const GemmBlocking& cut, void* scratch) {
  Pair* const b_block = static_cast<Pair*>(scratch);
  Pair* const a_block = b_block + b_elements(g);
  for (std::int64_t j = 0; j < g.n; j += block_n) {
    const std::int64_t nc = min_of(block_n, g.n - j);
    for (std::int64_t p = 0; p < g.k; p += cut.kc) {
      const std::int64_t kc = min_of(cut.kc, g.k - p);
      const std::int64_t b_step = nr * pairs_of(g.b_packed ? g.k : kc);
      const Pair* b_panels = b_block;
      if (g.b_packed) {
        b_panels = g.b + j / nr * b_step + p / 2 * nr;
      } else {
        pack_b_block(b_block, b_step, g, p, kc, j, nc);
      }
      for (std::int64_t i = 0; i < g.m; i += cut.mc) {
        const std::int64_t mc = min_of(cut.mc, g.m - i);
        if (cut.pack_a) pack_a_block(a_block, g, i, mc, cut.mr, p, kc);
        run_part(g, cut.mr, a_block, b_panels, {i, mc, j, nc, p, kc, b_step});
      }
    }
  }
}

void run_blocking(const GemmCall<float>& g, const GemmBlocking& chosen, void* scratch) {
  if (chosen.path == GemmPath::no_product || g.alpha == 0) {
    return avx512::gemm_f32.run_blocking(g, GemmBlocking{}, scratch);
  }
  run_blocks(g, chosen, scratch);
}

void run(const GemmCall<float>& g, void* scratch) { run_blocking(g, blocking(g), scratch); }

void round_a(const GemmCall<float>& g, float* rounded, std::int64_t row) {
  round_rows(rounded, row, g.a, g.a_row, g.m, g.k);
}

}  // namespace

constinit const GemmKernels<float> gemm_f32 = {
    nr, &blocking, &scratch_bytes, &run, &run_blocking, &pack_whole_b, &round_a};

}  // namespace ondine::math::ONDINE_ISA
