// Products of pairs of bfloat16 (gemm_pairs.h) in the tiles of AMX: up to 32 x 32 elements of C in
// four tiles, 16 pairs of k at a time.
#include "kernels/simd/matmul/gemm_pairs.h"
#include "kernels/simd/matmul/tiles.h"

namespace ondine::math::ONDINE_ISA {
namespace {

class TileKernel {
 public:
  static constexpr bool takes_pairs = false;  // tiles hold rows of A
  static constexpr std::int64_t nr = 2 * tile_width;
  // The rows of A that a tile takes and a panel of B stay in a first cache of 48 kB, the blocks in
  // a second one of 2 MB. Where rows of C are far from each other, passing over them again costs
  // more than panels that leave the first cache.
  static constexpr std::int64_t block_m = 256;
  static constexpr std::int64_t most_k = 768;
  static std::int64_t block_k(std::int64_t ldc) { return is_far(ldc) ? most_k : 256; }
  static constexpr std::int64_t block_pairs = 128 << 10;
  static constexpr std::int64_t apart = tile_width;  // so that panels share no sets of a cache
  static constexpr bool by_rows = true;              // C is read and written in long rows
  static constexpr bool biases_first = true;
  static constexpr std::int64_t unit_k = 2 * tile_width;
  static constexpr std::int64_t rows_ahead = 8;
  // Tiles keep the buffers for lines on their way busy: asking for more makes them wait.
  static constexpr bool prefetches = false;

  static std::int64_t rows_of(std::int64_t) { return most_rows; }
  static std::int64_t a_elements(std::int64_t m, std::int64_t pairs) {
    return (m + most_rows) * row_of(pairs);
  }
  static PackedRows packed_rows(std::int64_t, std::int64_t pairs) {
    return {row_of(pairs), row_of(pairs), 1};
  }

  // Rows of pairs.
  static void pack_a(Pair* to, const GemmCall<float>& g, std::int64_t i, std::int64_t mc,
                     std::int64_t, std::int64_t p, std::int64_t kc) {
    const std::int64_t row = row_of(pairs_of(kc));
    visit_a(g, i, p, [&](auto a) {
      if (g.a_col == 1) return round_rows(to, row, a, g.a_row, mc, kc);
      turn_rows(to, row, a, g.a_col, mc, kc);
    });
  }

  // Tiles begin with C times a beta of 1, and with biases of columns where nothing else follows the
  // multiplications. Follows from the call alone, so that every element has the same bits wherever
  // a call is cut.
  void run(const Block<float>& block, std::int64_t rows, std::int64_t cols, NextFactors& ahead) {
    Epilogue<float> rest = block.epilogue;
    const bool begun = rest.alpha == 1 && (rest.beta == 0 || rest.beta == 1);
    const bool plain = begun && !rest.row_bias && rest.activation == Activation::none;
    const bool stored = plain && cols == nr && block.bf16 == nullptr;
    alignas(64) float buffer[most_rows * nr];
    Sums sums{nullptr, nr, buffer, nr};
    if (begun) {
      begin_sums(sums, buffer, block, plain ? rest.col_bias : nullptr, rows, cols);
      rest.beta = 0;
      if (plain) rest.col_bias = nullptr;
    }
    if (stored) {
      sums.to = block.c;
      sums.to_row = block.ldc;
    }
    shape(rows, min_of(block.k, tile_width));
    multiply(block, rows, cols, sums, ahead);
    if (stored) return;
    if (block.bf16 != nullptr && begun && !rest.row_bias && cols == nr) {
      return store_rounded_rows(buffer, block, rest, rows);
    }
    Block<float> result = block;
    result.epilogue = rest;
    finish_stored<float, true>(buffer, rows, nr / lanes<float>, cols, result);
  }

 private:
  static constexpr std::int64_t most_rows = 2 * tile_rows;

  // Whole rows of a panel, with biases of columns and an activation.
  static void store_rounded_rows(const float* sums, const Block<float>& block,
                                 const Epilogue<float>& rest, std::int64_t rows) {
    constexpr int L = lanes<float>;
    for (std::int64_t j = 0; j < nr; j += 2 * L) {
      Vec<float> bias[2] = {};
      if (rest.col_bias) {
        for (int v = 0; v < 2; ++v) bias[v] = load(rest.col_bias + j + v * L);
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        const float* const from = sums + i * nr + j;
        const Vec<float> low = activate<float>(load(from) + bias[0], rest.activation);
        const Vec<float> high = activate<float>(load(from + L) + bias[1], rest.activation);
        store_rounded(block.bf16 + i * block.ldc + j, low, high);
      }
    }
  }

  // An odd number of cache lines, so that rows do not share sets of the cache.
  static std::int64_t row_of(std::int64_t pairs) {
    return (divide_up(pairs, tile_width) | 1) * tile_width;
  }

  // `count` columns of a matrix of k rows, `ld` apart, as rows of pairs.
  template <class Elements>
  static void turn_rows(Pair* to, std::int64_t row, Elements src, std::int64_t ld,
                        std::int64_t count, std::int64_t k) {
    constexpr int L = lanes<float>;
    const std::int64_t pairs = pairs_of(k);
    for (std::int64_t c = 0; c < count; c += L) {
      const std::int64_t some = min_of(L, count - c);
      for (std::int64_t q = 0; q < pairs; q += L) {
        Vec<Pair> block[L];
        const Elements first = src.from(2 * q * ld + c);
        if (some == L && 2 * (q + L) <= k) {
          for (int h = 0; h < L; ++h) {
            block[h] = first.from(2 * h * ld).beside(first.from((2 * h + 1) * ld));
          }
          transpose<Pair>(block);
          for (int r = 0; r < L; ++r) store(to + (c + r) * row + q, block[r]);
          continue;
        }
        for (std::int64_t h = 0; h < L; ++h) {
          const std::int64_t at = 2 * (q + h);
          const Elements from = first.from(2 * h * ld);
          block[h] = from.beside(from.from(ld), at < k ? some : 0, at + 1 < k ? some : 0);
        }
        transpose<Pair>(block);
        for (std::int64_t r = 0; r < some; ++r) {
          store_n(to + (c + r) * row + q, block[r], min_of(L, pairs - q));
        }
      }
    }
  }

  // C in tiles 0 to 3, two to a row; A in 4 and 5, B in 6 and 7. A and B are of fewer pairs than
  // tiles are wide where there are no more.
  void shape(std::int64_t rows, std::int64_t pairs) {
    if (rows == shaped_ && pairs == pairs_) return;
    shaped_ = rows;
    pairs_ = pairs;
    constexpr std::uint8_t whole = tile_width;
    const auto first = static_cast<std::uint8_t>(min_of(rows, tile_rows));
    const auto second = static_cast<std::uint8_t>(rows - first);
    const auto deep = static_cast<std::uint8_t>(pairs);
    tiles_.shape({first, first, second, second, first, second, deep, deep},
                 {whole, whole, whole, whole, deep, deep, whole, whole});
  }

  template <int Down, int Across>
  void step(const Pair* a, std::int64_t a_row, const Pair* b) {
    tiles_.load<6>(b, nr);
    if constexpr (Across == 2) tiles_.load<7>(b + tile_width, nr);
    tiles_.load<4>(a, a_row);
    tiles_.add_products<0, 4, 6>();
    if constexpr (Across == 2) tiles_.add_products<1, 4, 7>();
    if constexpr (Down == 2) {
      tiles_.load<5>(a + tile_rows * a_row, a_row);
      tiles_.add_products<2, 5, 6>();
      if constexpr (Across == 2) tiles_.add_products<3, 5, 7>();
    }
  }

  // Where sums begin, at zero if null, and where they go.
  struct Sums {
    const float* from;
    std::int64_t from_row;
    float* to;
    std::int64_t to_row;
  };

  static void begin_sums(Sums& sums, float* buffer, const Block<float>& block, const float* bias,
                         std::int64_t rows, std::int64_t cols) {
    const Epilogue<float>& f = block.epilogue;
    const float* const c = f.addend ? f.addend : block.c;
    const bool adds = f.beta == 1;
    if (!adds && !bias) return;
    if (cols == nr && (!adds || !bias)) {
      sums.from = adds ? c : bias;
      sums.from_row = adds ? block.ldc : 0;
      return;
    }
    sums.from = buffer;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; j += lanes<float>) {
        const std::int64_t some = min_of(lanes<float>, cols - j);
        Vec<float> start = adds ? load_n(c + i * block.ldc + j, some) : load_n(bias + j, some);
        if (adds && bias) start += load_n(bias + j, some);
        store(buffer + i * nr + j, start);
      }
    }
  }

  template <int T>
  void begin(const float* from, std::int64_t row, std::int64_t offset) {
    if (from) {
      tiles_.load<T>(from + offset, row);
    } else {
      tiles_.clear<T>();
    }
  }

  void multiply(const Block<float>& block, std::int64_t rows, std::int64_t cols, const Sums& sums,
                NextFactors& ahead) {
    const bool right = cols > tile_width;
    if (rows > tile_rows) {
      right ? multiply<2, 2>(block, rows, sums, ahead) : multiply<2, 1>(block, rows, sums, ahead);
    } else {
      right ? multiply<1, 2>(block, rows, sums, ahead) : multiply<1, 1>(block, rows, sums, ahead);
    }
  }

  template <int Down, int Across>
  void multiply(const Block<float>& block, std::int64_t rows, const Sums& sums,
                NextFactors& ahead) {
    begin<0>(sums.from, sums.from_row, 0);
    if constexpr (Across == 2) begin<1>(sums.from, sums.from_row, tile_width);
    if constexpr (Down == 2) begin<2>(sums.from, sums.from_row, tile_rows * sums.from_row);
    if constexpr (Down == 2 && Across == 2) {
      begin<3>(sums.from, sums.from_row, tile_rows * sums.from_row + tile_width);
    }
    std::int64_t q = 0;
    for (; q + pairs_ <= block.k; q += pairs_) {
      step<Down, Across>(block.a + q, block.a_row, block.b + q * nr);
      ahead.step();
    }
    if (q < block.k) {
      last_step<Down, Across>(block, rows, q);
      ahead.step();
    }
    tiles_.store<0>(sums.to, sums.to_row);
    if constexpr (Across == 2) tiles_.store<1>(sums.to + tile_width, sums.to_row);
    if constexpr (Down == 2) tiles_.store<2>(sums.to + tile_rows * sums.to_row, sums.to_row);
    if constexpr (Down == 2 && Across == 2) {
      tiles_.store<3>(sums.to + tile_rows * sums.to_row + tile_width, sums.to_row);
    }
  }

  // Fewer pairs than a tile is wide, zeros after them: what follows in A may be NaN.
  template <int Down, int Across>
  void last_step(const Block<float>& block, std::int64_t rows, std::int64_t q) {
    alignas(64) Pair a[most_rows * tile_width] = {};
    alignas(64) Pair b[tile_rows * nr] = {};
    const auto left = static_cast<std::size_t>(block.k - q);
    for (std::int64_t i = 0; i < rows; ++i) {
      __builtin_memcpy(a + i * tile_width, block.a + i * block.a_row + q, left * sizeof(Pair));
    }
    __builtin_memcpy(b, block.b + q * nr, left * nr * sizeof(Pair));
    step<Down, Across>(a, tile_width, b);
  }

  Tiles tiles_;
  std::int64_t shaped_ = 0, pairs_ = 0;
};

}  // namespace

constinit const GemmKernels<float> tile_gemm_f32 = PairGemm<TileKernel>::table;

}  // namespace ondine::math::ONDINE_ISA
