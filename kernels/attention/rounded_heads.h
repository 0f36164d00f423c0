// Attention by kernels that round the factors of products to bfloat16. The factors of a head are
// rounded and packed once for all its tiles; weights and their derivatives are rounded while they
// are computed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/head_kernel.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/attention/attention_rows_table.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/matmul/gemm_table.h"

namespace ondine::math {

class RoundedHeads final : public HeadKernel<float> {
 public:
  // Whether the kernels round all products of the shape, and a head's packed factors are not large.
  static bool takes(const AttentionShape& shape, const SimdTables& kernels);

  // `rows`: the most queries of a tile. Tiles begin at any key.
  RoundedHeads(const AttentionShape& shape, std::int64_t rows, const SimdTables& kernels);

  std::string_view name() const noexcept override { return "tiled_bf16"; }
  std::size_t bytes() const noexcept override { return parts_.bytes(); }
  bool packs() const noexcept override { return true; }
  bool takes_bf16() const noexcept override { return true; }

  void pack(const AttentionOperands<float>& operands, std::int64_t head,
            std::byte* memory) const override;
  void run(ThreadPool& pool, const AttentionTile& tile, const AttentionScores<float>& scores,
           const AttentionOperands<float>& operands, float* y, std::byte* memory) const override;

  void pack_gradient(const AttentionOperands<float>& operands, std::int64_t head,
                     std::byte* memory) const override;
  void run_gradient(ThreadPool& pool, const AttentionTile& tile,
                    const AttentionScores<float>& scores, const AttentionOperands<float>& operands,
                    const float* dy, const AttentionGradients<float>& gradients, float beta,
                    std::byte* memory) const override;

 private:
  // In `memory`, as bytes from its beginning.
  struct Places {
    std::size_t keys, values;          // right factors of scores and of y
    std::size_t key_rows, value_rows;  // and of dQ and of the derivatives of weights
    std::size_t left, right;           // rows of a strip, and of a tile, as factors
    std::size_t scores, derivatives;   // of a strip in float32 ...
    std::size_t weights, rounded;      // ... and of a tile in bfloat16
    std::size_t masks;                 // the sums of two, of a strip
    std::size_t scratch;
  };
  struct Matrix {
    Elements<const float> elements;
    std::int64_t row, col;  // elements between rows and columns
  };
  struct MaskRows {
    const float* first;  // null without masks
    std::int64_t step;

    const float* row(std::int64_t i) const { return first != nullptr ? first + i * step : nullptr; }
  };
  // Rows of results in memory.
  struct Rows {
    float* first;
    std::int64_t step;  // elements from one to the next
  };

  std::int64_t depth(std::int64_t terms) const;
  std::int64_t packed_elements(std::int64_t k, std::int64_t n) const;
  void pack_right(const Matrix& b, std::int64_t k, std::int64_t n, float* to) const;
  void round_left(const Matrix& a, std::int64_t rows, std::int64_t k, float* to) const;
  GemmCall<float> product(std::int64_t m, std::int64_t n, std::int64_t k, float* c,
                          std::int64_t ldc) const;
  AttentionTile aligned(AttentionTile tile) const;
  Matrix q_of(const AttentionTile& tile, Elements<const float> q) const;
  Matrix dy_of(const AttentionTile& tile, const float* dy) const;
  template <class Body>
  void for_strips(const AttentionTile& tile, Body&& body) const;
  AttentionRows rows_of(const AttentionTile& strip, std::int64_t row, float scale,
                        std::size_t values, std::size_t rounded, std::byte* memory) const;
  MaskRows masks_of(const AttentionTile& strip, const AttentionScores<float>& scores,
                    std::byte* memory) const;
  void compute_weights(const AttentionTile& strip, std::int64_t row,
                       const AttentionScores<float>& scores,
                       const AttentionOperands<float>& operands, bool keep,
                       std::byte* memory) const;
  void derive_scores(const AttentionTile& strip, std::int64_t row,
                     const AttentionScores<float>& scores, const float* dy, float* dmask,
                     std::byte* memory) const;
  void multiply_queries(const AttentionTile& strip, const Matrix& left, std::size_t right,
                        std::int64_t size, float* to, std::byte* memory) const;
  void multiply_keys(const AttentionTile& tile, std::size_t left, std::size_t right,
                     std::int64_t size, const Rows& to, std::byte* memory) const;
  void add_queries(const AttentionTile& tile, std::size_t left, const Matrix& right,
                   std::int64_t size, const Rows& to, float beta, std::byte* memory) const;

  AttentionShape shape_;
  const SimdTables* kernels_;
  const GemmKernels<float>* gemm_;
  std::int64_t score_row_ = 0;   // floats
  std::int64_t weight_row_ = 0;  // elements of bfloat16
  std::int64_t strip_ = 0;       // rows
  Places places_{};
  Parts parts_;
};

}  // namespace ondine::math
