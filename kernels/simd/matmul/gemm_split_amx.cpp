// Products of float32 in the tiles of AMX with the precision of float32: both factors are split
// into three bfloat16 (split_factors.h), and six products of parts are summed (split_tiles.h).
// While tiles are multiplied, vectors split what is multiplied next and add what was before to C.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/split_sums.h"
#include "kernels/simd/matmul/split_tiles.h"

namespace ondine::math::ONDINE_FULL_ISA {
extern const GemmKernels<float> gemm_f32;
}

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr std::int64_t width = split_width;

// A block of B and two panels of A stay in a second cache of 2 MB, from which tiles are loaded.
// Larger blocks are slower: sources and results pass through it too.
constexpr std::int64_t block_n = 256;
constexpr std::int64_t block_k = 384;
constexpr std::int64_t padding = 64;

const GemmKernels<float>& full() { return ONDINE_FULL_ISA::gemm_f32; }

GemmBlocking blocking(const GemmCall<float>& g) {
  if (!g.splits || g.m == 0 || g.n == 0 || g.k == 0) return full().blocking(g);
  GemmBlocking cut;
  cut.path = GemmPath::split;
  cut.pack_a = true;
  cut.pack_b = true;
  cut.mr = width;
  cut.mc = width;
  cut.kc = g.block_k > 0 ? min_of(g.block_k, block_k)
                         : divide_up(even_chunk(g.k, block_k), split_terms) * split_terms;
  return cut;
}

std::int64_t most_pairs(const GemmCall<float>& g) { return panel_pairs(min_of(g.k, block_k)); }
// Panels of B: those of a block, and the first of the next.
std::int64_t panels_of_b(const GemmCall<float>& g) {
  return divide_up(min_of(g.n, block_n), width) + 1;
}
std::int64_t scratch_bytes(const GemmCall<float>& g) {
  if (!g.splits) return full().scratch_bytes(g);
  if (g.m == 0 || g.n == 0 || g.k == 0 || g.alpha == 0) return 0;
  return ((panels_of_b(g) + 2) * most_pairs(g) + padding) * std::int64_t{sizeof(Pair)};
}

class SplitGemm {
 public:
  SplitGemm(const GemmCall<float>& g, const GemmBlocking& cut, void* scratch)
      : g_(g),
        kc_(cut.kc),
        panels_(static_cast<Pair*>(scratch)),
        panel_(most_pairs(g)),
        b_panels_(panels_of_b(g)),
        sums_(g) {}

  void run() {
    begin_a(0, 0, current_a_, 1);
    begin_b(0, 0, 0, 1);
    take_due();
    while (a_due_ + b_due_ > 0) work();
    for (std::int64_t j = 0; j < g_.n; j += block_n) {
      for (std::int64_t p = 0; p < g_.k; p += kc_) {
        const Part at{j, min_of(block_n, g_.n - j), p, min_of(kc_, g_.k - p)};
        const std::int64_t next_p = p + kc_ < g_.k ? p + kc_ : 0;
        const std::int64_t next_j = next_p > 0 ? j : j + block_n;
        for (std::int64_t i = 0; i < g_.m; i += width) {
          const bool more = i + width < g_.m;
          if (more || next_j < g_.n) {
            begin_a(more ? i + width : 0, more ? p : next_p, 1 - current_a_, at.across());
          }
          if (i > 0 && !more) begin_b(next_j, next_p, at.across(), at.across());
          for (std::int64_t t = 0; t < at.across(); ++t) {
            // While the first rows are multiplied, the panel after this one.
            if (i == 0 && t + 1 < at.across()) begin_b(j + (t + 1) * width, p, t + 1, 1);
            if (i == 0 && t + 1 == at.across() && !more) begin_b(next_j, next_p, t + 1, 1);
            run_tiles(at, i, t);
          }
          current_a_ = 1 - current_a_;
        }
        first_b_ = (first_b_ + at.across()) % b_panels_;
      }
    }
    while (sums_.units() > 0) sums_.finish_next();
  }

 private:
  // Columns [j, j + nc) of C, with [p, p + kc) of k.
  struct Part {
    std::int64_t j, nc, p, kc;

    std::int64_t across() const { return divide_up(nc, width); }
  };

  // Units of work that are to be done while so many blocks of tiles are multiplied.
  struct Left {
    std::int64_t units = 0, blocks = 0;

    // Takes the units of the next block of tiles.
    std::int64_t take() {
      if (units == 0 || blocks == 0) return 0;
      const std::int64_t some = divide_up(units, blocks--);
      units -= some;
      return some;
    }
  };

  Pair* a_panel(int which) const { return panels_ + which * panel_; }
  // Panel t of those of this block, and the one after them.
  Pair* b_panel(std::int64_t t) const {
    return panels_ + (2 + (first_b_ + t) % b_panels_) * panel_;
  }

  // The panel of A from row i and term p on is split while so many blocks are multiplied.
  void begin_a(std::int64_t i, std::int64_t p, int which, std::int64_t blocks) {
    a_next_ = {g_, p, min_of(kc_, g_.k - p), i, min_of(width, g_.m - i), a_panel(which)};
    a_left_ = {a_next_.units(), blocks};
  }
  // Begins to split the panel of B from column j on, if there is one, likewise.
  void begin_b(std::int64_t j, std::int64_t p, std::int64_t t, std::int64_t blocks) {
    if (j >= g_.n) return;
    b_next_ = {g_, p, min_of(kc_, g_.k - p), j, min_of(width, g_.n - j), b_panel(t)};
    b_left_ = {b_next_.units(), blocks};
  }

  void take_due() {
    a_due_ = a_left_.take();
    b_due_ = b_left_.take();
  }

  void run_tiles(const Part& at, std::int64_t i, std::int64_t t) {
    const SplitBlock block{
        i,    min_of(width, g_.m - i), at.j + t * width, min_of(width, at.nc - t * width), at.p,
        at.kc};
    take_due();
    tiles_.multiply(
        sums_.next(), a_panel(current_a_), b_panel(t), split_steps(at.kc), block.rows, block.cols,
        a_due_ + b_due_ + sums_.units(), [this]() __attribute__((always_inline)) { work(); });
    sums_.start(block);
  }

  // The sums of the block before come last: they have left the tiles then.
  __attribute__((noinline)) void work() {
    if (b_due_ > 0) {
      --b_due_;
      return b_next_.split_next(turned_b_);
    }
    if (a_due_ > 0) {
      --a_due_;
      return a_next_.split_next(turned_a_);
    }
    sums_.finish_next();
  }

  const GemmCall<float>& g_;
  std::int64_t kc_;
  Pair* panels_;           // two of A, then those of B in a ring
  std::int64_t panel_;     // pairs of one
  std::int64_t b_panels_;  // how many
  std::int64_t first_b_ = 0;
  int current_a_ = 0;
  PanelOfA a_next_;
  PanelOfB b_next_;
  Left a_left_, b_left_;
  std::int64_t a_due_ = 0, b_due_ = 0;  // of this block of tiles
  alignas(64) Turned turned_a_, turned_b_;
  SplitSums sums_;
  SplitTiles tiles_;
};

void run_blocking(const GemmCall<float>& g, const GemmBlocking& chosen, void* scratch) {
  if (chosen.path != GemmPath::split || g.alpha == 0) {
    return full().run_blocking(g, chosen, scratch);
  }
  SplitGemm(g, chosen, scratch).run();
}

void run(const GemmCall<float>& g, void* scratch) { run_blocking(g, blocking(g), scratch); }

void pack_b(const GemmCall<float>& g, float* panels) { full().pack_b(g, panels); }

std::int64_t whole_block_k(const GemmCall<float>& g) {
  return g.splits ? 0 : full().whole_block_k(g);
}

// Where splitting the factors and adding the sums to C cost less than the tiles save, as measured.
// Parts of a product that are cut along k decide like the whole.
bool splits(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t least_k = 64;
  if (m == 0 || n == 0 || k < least_k) return false;
  const auto terms = static_cast<double>(min_of(split_steps(k) * split_terms, block_k / 2));
  return 1.0 / static_cast<double>(m) + 1.0 / static_cast<double>(n) + 0.5 / terms <= 0.03;
}

}  // namespace

constinit const GemmKernels<float> split_gemm_f32 = {.nr = panel<float>,
                                                     .blocking = &blocking,
                                                     .scratch_bytes = &scratch_bytes,
                                                     .run = &run,
                                                     .run_blocking = &run_blocking,
                                                     .pack_b = &pack_b,
                                                     .whole_block_k = &whole_block_k,
                                                     .splits = &splits};

}  // namespace ondine::math::ONDINE_ISA
