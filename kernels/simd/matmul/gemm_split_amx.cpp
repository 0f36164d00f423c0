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

// A block of B and two of A stay in a second cache of 2 MB, from which tiles are loaded.
constexpr std::int64_t block_m = 128;
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
  cut.mc = divide_up(even_chunk(g.m, block_m), width) * width;
  cut.kc = g.block_k > 0 ? min_of(g.block_k, block_k)
                         : divide_up(even_chunk(g.k, block_k), split_terms) * split_terms;
  return cut;
}

// Panels of B: those of a block, and the first of the next.
std::int64_t panels_of_b(const GemmCall<float>& g) {
  return divide_up(min_of(g.n, block_n), width) + 1;
}
std::int64_t most_pairs(const GemmCall<float>& g) { return panel_pairs(min_of(g.k, block_k)); }
std::int64_t a_pairs(const GemmCall<float>& g) {
  return divide_up(min_of(g.m, block_m), width) * most_pairs(g);
}
std::int64_t scratch_bytes(const GemmCall<float>& g) {
  if (!g.splits) return full().scratch_bytes(g);
  if (g.m == 0 || g.n == 0 || g.k == 0 || g.alpha == 0) return 0;
  const std::int64_t pairs = panels_of_b(g) * most_pairs(g) + 2 * a_pairs(g) + padding;
  return pairs * std::int64_t{sizeof(Pair)};
}

class SplitGemm {
 public:
  SplitGemm(const GemmCall<float>& g, const GemmBlocking& cut, void* scratch)
      : g_(g), cut_(cut), slots_(panels_of_b(g)), slot_pairs_(most_pairs(g)), sums_(g) {
    b_panels_ = static_cast<Pair*>(scratch);
    a_panels_[0] = b_panels_ + slots_ * slot_pairs_;
    a_panels_[1] = a_panels_[0] + a_pairs(g);
  }

  void run() {
    const bool once = g_.m <= cut_.mc && g_.k <= cut_.kc;  // A is one block
    begin_a(block_of_a(0, 0), a_panels_[current_], 1);
    end_a();
    begin_b(panel_of_b(0, 0), slot(0), 1);
    end_b();
    for (std::int64_t j = 0; j < g_.n; j += block_n) {
      const std::int64_t nc = min_of(block_n, g_.n - j);
      for (std::int64_t p = 0; p < g_.k; p += cut_.kc) {
        const std::int64_t next_p = p + cut_.kc < g_.k ? p + cut_.kc : 0;
        const std::int64_t next_j = next_p > 0 ? j : j + nc;
        for (std::int64_t i = 0; i < g_.m; i += cut_.mc) {
          const bool more = i + cut_.mc < g_.m;
          const Part part{i, min_of(cut_.mc, g_.m - i), j, nc, p, min_of(cut_.kc, g_.k - p)};
          if (!once && (more || next_j < g_.n)) {
            begin_a(block_of_a(more ? i + cut_.mc : 0, more ? p : next_p), a_panels_[1 - current_],
                    part.slots() * divide_up(nc, width));
          }
          run_part(part, more ? PanelOfB{} : panel_of_b(next_p, next_j));
          end_a();
          if (!once) current_ = 1 - current_;
        }
        first_slot_ = (first_slot_ + divide_up(nc, width)) % slots_;
      }
    }
    end_sums();
  }

 private:
  // Rows [i, i + mc) and columns [j, j + nc) of C, with [p, p + kc) of k.
  struct Part {
    std::int64_t i, mc, j, nc, p, kc;

    // Between the multiplications for a panel of B.
    std::int64_t slots() const {
      return divide_up(mc, width) * split_steps(kc) * SplitTiles::slots;
    }
  };

  BlockOfA block_of_a(std::int64_t i, std::int64_t p) const {
    return {g_, p, min_of(cut_.kc, g_.k - p), i, min_of(cut_.mc, g_.m - i)};
  }
  // Of columns beyond the last: empty.
  PanelOfB panel_of_b(std::int64_t p, std::int64_t j) const {
    if (j >= g_.n) return {};
    return {g_, p, min_of(cut_.kc, g_.k - p), j, min_of(width, g_.n - j)};
  }
  Pair* slot(std::int64_t panel) const {
    return b_panels_ + (first_slot_ + panel) % slots_ * slot_pairs_;
  }

  // `next`: the first panel after those of this block, empty while further rows need them. B is
  // split while the first rows are multiplied.
  void run_part(const Part& at, const PanelOfB& next) {
    const std::int64_t panels = divide_up(at.nc, width);
    if (at.i > 0) {
      begin_b(next, slot(panels), at.slots() * panels);
      for (std::int64_t t = 0; t < panels; ++t) {
        for (std::int64_t ii = 0; ii < at.mc; ii += width) run_tiles(at, ii, t);
      }
      end_b();
      return;
    }
    for (std::int64_t t = 0; t < panels; ++t) {
      const bool last = t + 1 == panels;
      begin_b(last ? next : panel_of_b(at.p, at.j + (t + 1) * width), slot(t + 1), at.slots());
      for (std::int64_t ii = 0; ii < at.mc; ii += width) run_tiles(at, ii, t);
      end_b();
    }
  }
  void begin_a(const BlockOfA& next, Pair* to, std::int64_t slots) {
    a_next_ = next;
    a_next_.start(to);
    a_shares_ = {next.units(), slots};
  }
  void end_a() {
    a_shares_.finish([&] { a_next_.split_next(turned_a_); });
  }
  void begin_b(const PanelOfB& next, Pair* to, std::int64_t slots) {
    b_next_ = next;
    b_next_.start(to);
    b_shares_ = {next.units(), slots};
  }
  void end_b() {
    b_shares_.finish([&] { b_next_.split_next(turned_b_); });
  }

  void run_tiles(const Part& at, std::int64_t ii, std::int64_t t) {
    const std::int64_t steps = split_steps(at.kc);
    const SplitBlock block{at.i + ii,
                           min_of(width, at.mc - ii),
                           at.j + t * width,
                           min_of(width, at.nc - t * width),
                           at.p,
                           at.kc};
    tiles_.multiply(
        sums_.next(), a_panels_[current_] + ii / width * steps * step_pairs, slot(t), steps,
        block.rows, block.cols, [this]() __attribute__((always_inline)) { work(); });
    end_sums();
    sums_.start(block);
    // They leave the tiles before.
    const std::int64_t slots = steps * SplitTiles::slots;
    c_shares_ = {sums_.units(), slots, steps > 1 ? SplitTiles::slots : 2};
  }
  void end_sums() {
    c_shares_.finish([&] { sums_.finish_next(); });
  }

  __attribute__((noinline)) void work() {
    c_shares_.spend([&] { sums_.finish_next(); });
    b_shares_.spend([&] { b_next_.split_next(turned_b_); });
    a_shares_.spend([&] { a_next_.split_next(turned_a_); });
  }

  const GemmCall<float>& g_;
  const GemmBlocking& cut_;
  Pair* b_panels_;
  Pair* a_panels_[2];
  std::int64_t slots_, slot_pairs_;
  std::int64_t first_slot_ = 0;
  int current_ = 0;  // of A's panels
  BlockOfA a_next_;
  PanelOfB b_next_;
  Shares a_shares_, b_shares_, c_shares_;
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
