// Sums that the tiles of split factors compute: they are added to C, a few rows at a time, while
// the next ones are computed.
#pragma once

#include "kernels/simd/matmul/gemm_block.h"
#include "kernels/simd/matmul/split_factors.h"

namespace ondine::math::ONDINE_ISA {

// Rows [i, i + rows) and columns [j, j + cols) of C, up to 32 of each, with terms [p, p + kc).
struct SplitBlock {
  std::int64_t i = 0, rows = 0, j = 0, cols = 0, p = 0, kc = 0;
};

class SplitSums {
 public:
  explicit SplitSums(const GemmCall<float>& g) : g_(g) {}

  // Where the sums of the next block go, in rows of 32, while those of the last are finished.
  float* next() { return sums_[1 - last_]; }
  // Begins to finish those, the last ones being finished.
  void start(const SplitBlock& block) {
    last_ = 1 - last_;
    block_ = block;
    finished_ = 0;
    result_.ldc = g_.ldc;
    result_.c = g_.c.plain() + block.i * g_.ldc + block.j;
    result_.epilogue = epilogue_of(g_, block.p == 0, block.p + block.kc == g_.k, block.i, block.j);
  }

  // Calls of finish_next until all rows are added.
  std::int64_t units() const { return divide_up(block_.rows - finished_, unit_rows); }
  void finish_next() {
    constexpr int L = lanes<float>, vectors = split_width / L;
    if (finished_ == 0 && !are_finite()) repair();
    const std::int64_t rows = min_of(unit_rows, block_.rows - finished_);
    const float* const from = sums_[last_] + finished_ * split_width;
    const float* const addend = result_.epilogue.addend;
    for (int r = 0; r < unit_rows; ++r) {
      const std::int64_t ahead = (unit_rows + r) * result_.ldc;
      for (const std::int64_t half : {std::int64_t{0}, split_width / 2}) {
        __builtin_prefetch(result_.c + ahead + half, 1);
        if (addend) __builtin_prefetch(addend + ahead + half);
      }
    }
    if (rows < unit_rows || block_.cols < split_width) {
      finish_stored<float>(from, rows, vectors, block_.cols, result_);
    } else {
      Vec<float> acc[unit_rows][vectors];
      for (int r = 0; r < unit_rows; ++r) {
        for (int v = 0; v < vectors; ++v) acc[r][v] = load(from + r * split_width + v * L);
      }
      finish_block<float, unit_rows, vectors, Edge::whole>(acc, result_);
    }
    finished_ += rows;
    result_.c += rows * result_.ldc;
    if (result_.epilogue.row_bias) result_.epilogue.row_bias += rows;
    if (result_.epilogue.addend) result_.epilogue.addend += rows * result_.ldc;
  }

 private:
  static constexpr std::int64_t unit_rows = 2;

  bool are_finite() const {
    constexpr int L = lanes<float>, vectors = split_width / L;
    Vec<float> zeros[vectors] = {};  // or NaN
    for (std::int64_t i = 0; i < block_.rows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        const float* const at = sums_[last_] + i * split_width + v * L;
        const std::int64_t left = block_.cols - v * L;
        if (left >= L) {
          zeros[v] += 0.0F * load(at);
        } else if (left > 0) {
          zeros[v] += 0.0F * load_n(at, left);
        }
      }
    }
    for (int v = 1; v < vectors; ++v) zeros[0] += zeros[v];
    return lane_sum<float>(zeros[0]) == 0;
  }

  // Infinite factors have no parts: elements that are not finite are computed from the factors. The
  // others keep their bits, which must not depend on where a product is cut.
  __attribute__((noinline)) void repair() {
    constexpr int L = lanes<float>;
    alignas(64) float again[split_width * split_width] = {};
    alignas(64) Turned b;
    PanelOfB panel(g_, block_.p, block_.kc, block_.j, block_.cols, nullptr);
    for (std::int64_t p = 0; p < block_.kc; p += split_terms) {
      panel.read_next(b);
      const std::int64_t terms = min_of(split_terms, block_.kc - p);
      const float* const a = g_.a.plain() + block_.i * g_.a_row + (block_.p + p) * g_.a_col;
      for (std::int64_t r = 0; r < block_.rows; r += 4) {
        for (std::int64_t c = 0; c < split_width; c += L) {
          const std::int64_t rows = min_of(4, block_.rows - r);
          Vec<float> sum[4] = {};
          for (std::int64_t s = 0; s < rows; ++s) sum[s] = load(again + (r + s) * split_width + c);
          for (std::int64_t t = 0; t < terms; ++t) {
            const Vec<float> row = load(b + t * split_width + c);
            for (std::int64_t s = 0; s < 4; ++s) {
              sum[s] += a[(r + min_of(s, rows - 1)) * g_.a_row + t * g_.a_col] * row;
            }
          }
          for (std::int64_t s = 0; s < rows; ++s) store(again + (r + s) * split_width + c, sum[s]);
        }
      }
    }
    float* const to = sums_[last_];
    for (std::int64_t at = 0; at < split_width * split_width; at += L) {
      const Vec<float> sum = load(to + at);
      store(to + at, sum - sum == 0 ? sum : load(again + at));
    }
  }

  const GemmCall<float>& g_;
  alignas(64) float sums_[2][split_width * split_width];
  int last_ = 0;
  SplitBlock block_;
  std::int64_t finished_ = 0;  // rows
  Block<float> result_{};
};

}  // namespace ondine::math::ONDINE_ISA
