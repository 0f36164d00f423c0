// Attention of heads, by tiles of queries: no matrix of all scores is ever kept. float and double.
#pragma once

#include <cstdint>

#include "kernels/matmul/gemm_primitive.h"

namespace ondine::math {

// For each of `count` heads, one after the other in memory: Q queries x features, K keys x features
// (key_rows) or features x keys, V keys x values, Y queries x values.
struct AttentionShape {
  std::int64_t count = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t features = 0;
  std::int64_t values = 0;
  bool key_rows = true;
};

// S = scale Q K^T + mask. The mask of head i starts at offsets[i]; its rows lie `row` apart, 0 for
// one row for all queries.
template <class T>
struct AttentionScores {
  T scale = 1;
  const T* mask = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t row = 0;
};

template <class T>
std::size_t attention_workspace(const AttentionShape& shape, int threads,
                                const Kernels& kernels = math::kernels());

// Y = softmax(S) V
template <class T>
void attention(ThreadPool& pool, const AttentionShape& shape, const AttentionScores<T>& scores,
               const T* q, const T* k, const T* v, T* y, Workspace workspace,
               const Kernels& kernels = math::kernels());

// Those of dq, dk and dv that are not null, from dy; the scores are made again.
template <class T>
void attention_gradient(ThreadPool& pool, const AttentionShape& shape,
                        const AttentionScores<T>& scores, const T* q, const T* k, const T* v,
                        const T* dy, T* dq, T* dk, T* dv, Workspace workspace,
                        const Kernels& kernels = math::kernels());

}  // namespace ondine::math
