// The product that every step of a recurrent operator makes with the same matrix.
#pragma once

#include <algorithm>

#include "kernels/common/kernel_scratch.h"
#include "kernels/common/workspace.h"
#include "kernels/matmul/packed_gemm.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// C = A B (+ C) (+ bias), B k x n, for the samples of one chunk of the batch. Where a chunk has
// enough samples, B is packed once for all steps; a chunk that is the whole batch is multiplied by
// all threads.
template <class C>
class StepProduct {
 public:
  // `transposed`: B is stored n x k. n may be 0: nothing is multiplied.
  StepProduct(graph::BindContext& context, Scratch& scratch, const Recurrence& s, std::int64_t n,
              std::int64_t k, bool transposed)
      : n_(n), k_(k), chunk_(s.batch_chunk()), transposed_(transposed), packed_(s.packs()) {
    if (n == 0) return;
    const math::GemmShape shape{.m = chunk_, .n = n, .k = k};
    if (packed_) {
      matrix_ = scratch.add<C>(math::packed_elements<C>(n, k));
      // Not shared by chunks, which run at once.
      work_bytes_ = math::align_up(math::packed_gemm_scratch<C>(shape));
      work_ = scratch.add_bytes(static_cast<std::size_t>(s.chunks()) * work_bytes_);
    } else {
      if (transposed) matrix_ = scratch.add<C>(checked_mul(n, k));
      work_bytes_ = math::gemm_workspace<C>(shape, 1, context.threads());
      work_ = scratch.add_bytes(work_bytes_);
    }
  }

  // What `run` multiplies with.
  const C* prepare(graph::KernelContext& call, const C* b) const {
    if (n_ == 0 || (!packed_ && !transposed_)) return b;
    C* matrix = Scratch::at<C>(call, matrix_);
    if (packed_) {
      math::pack<C>({.n = n_, .k = k_, .trans_b = transposed_}, b, matrix);
      return matrix;
    }
    constexpr std::int64_t tile = 16;
    for (std::int64_t i = 0; i < n_; i += tile) {
      const std::int64_t last = std::min(n_, i + tile);
      for (std::int64_t k = 0; k < k_; ++k) {
        for (std::int64_t j = i; j < last; ++j) matrix[k * n_ + j] = b[j * k_ + k];
      }
    }
    return matrix;
  }

  // For `rows` samples from `first` on, the first of a chunk; `a` and `c` are theirs.
  void run(graph::KernelContext& call, const C* matrix, std::int64_t first, std::int64_t rows,
           const C* a, std::int64_t lda, C* c, std::int64_t ldc, bool accumulate,
           const C* bias = nullptr) const {
    if (rows == 0 || n_ == 0) return;
    const math::GemmShape shape{.m = rows, .n = n_, .k = k_, .lda = lda, .ldc = ldc};
    const math::GemmOptions<C> options{.beta = accumulate ? C{1} : C{0}, .col_bias = bias};
    auto* work = Scratch::at<std::byte>(call, work_);
    if (packed_) {
      work += static_cast<std::size_t>(first / chunk_) * work_bytes_;
      return math::packed_gemm<C>(shape, a, matrix, c, options, work);
    }
    math::gemm<C>(call.pool(), shape, a, matrix, c, options, {work, work_bytes_});
  }

 private:
  std::int64_t n_, k_, chunk_;
  bool transposed_, packed_;
  std::size_t matrix_ = 0, work_ = 0, work_bytes_ = 0;
};

}  // namespace ondine::kernels
