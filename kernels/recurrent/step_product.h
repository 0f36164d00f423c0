// The product that every step of a recurrent operator makes with the same matrix.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/common/kernel_scratch.h"
#include "kernels/common/workspace.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/packed_gemm.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// B is k x n, or stored n x k where it is `transposed`. n may be 0: nothing is multiplied.
struct StepShape {
  std::int64_t n, k;
  std::int64_t lda, ldc;  // from the row of one sample to that of the next
  bool transposed;
};

// C = A B (+ C) (+ bias) for the samples of one chunk of the batch. Where a chunk has enough
// samples, B is packed once for all steps; otherwise one chunk is the whole batch, which is
// multiplied by all threads. Few steps of few samples do not pay for transposing B.
template <class C>
class StepProduct {
 public:
  StepProduct(graph::BindContext& context, Scratch& scratch, const Recurrence& s,
              const StepShape& shape)
      : shape_(shape),
        chunk_(s.batch_chunk()),
        packed_(s.packs()),
        transposes_(!packed_ && shape.transposed && (s.rows() > 16 || s.batch_size > 4)),
        kernels_(&product_kernels(context)) {
    if (shape.n == 0) return;
    if (packed_) {
      matrix_ = scratch.add<C>(math::packed_elements<C>(shape.n, shape.k, *kernels_));
      // Not shared by chunks, which run at once.
      work_bytes_ = math::packed_gemm_scratch<C>(product(chunk_), *kernels_);
      work_ =
          scratch.add<std::byte>(checked_mul(s.chunks(), static_cast<std::int64_t>(work_bytes_)));
    } else {
      if (transposes_) matrix_ = scratch.add<C>(checked_mul(shape.n, shape.k));
      gemm_.emplace(product(s.batch_size), 1, context.threads(), *kernels_);
      work_ = scratch.add_bytes(gemm_->workspace());
    }
  }

  // What `run` multiplies with.
  const C* prepare(graph::KernelContext& call, const C* b) const {
    const auto [n, k, lda, ldc, transposed] = shape_;
    if (n == 0 || (!packed_ && !transposes_)) return b;
    C* matrix = Scratch::at<C>(call, matrix_);
    if (packed_) {
      math::pack<C>({.n = n, .k = k, .trans_b = transposed}, b, matrix, *kernels_);
      return matrix;
    }
    constexpr std::int64_t tile = 16;
    for (std::int64_t i = 0; i < n; i += tile) {
      const std::int64_t last = std::min(n, i + tile);
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t j = i; j < last; ++j) matrix[p * n + j] = b[j * k + p];
      }
    }
    return matrix;
  }

  // For `rows` samples from `first` on, the first of a chunk; `a` and `c` are theirs.
  void run(graph::KernelContext& call, const C* matrix, std::int64_t first, std::int64_t rows,
           const C* a, C* c, bool accumulate, const C* bias = nullptr) const {
    if (rows == 0 || shape_.n == 0) return;
    const math::GemmOptions<C> options{.beta = accumulate ? C{1} : C{0}, .col_bias = bias};
    auto* work = Scratch::at<std::byte>(call, work_);
    if (packed_) {
      work += static_cast<std::size_t>(first / chunk_) * work_bytes_;
      return math::packed_gemm<C>(product(rows), a, matrix, c, options, work, *kernels_);
    }
    gemm_->run(call.pool(), {}, a, matrix, c, options, work);
  }

 private:
  math::GemmShape product(std::int64_t rows) const {
    return {.m = rows,
            .n = shape_.n,
            .k = shape_.k,
            .trans_b = !packed_ && shape_.transposed && !transposes_,
            .lda = shape_.lda,
            .ldc = shape_.ldc};
  }

  StepShape shape_;
  std::int64_t chunk_;
  bool packed_;
  bool transposes_;  // B, once for all steps
  const math::SimdTables* kernels_;
  std::optional<math::GemmPrimitive<C>> gemm_;  // where B is not packed
  std::size_t matrix_ = 0, work_ = 0, work_bytes_ = 0;
};

}  // namespace ondine::kernels
