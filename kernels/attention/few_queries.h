// Attention of few queries to keys and values in two parts, those of earlier tokens and new ones.
// Each part is read where it lies, so that a step of a language model copies no cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/parallel.h"
#include "kernels/attention/attention_shape.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// Elements from a sample, a head and a row of an operand to the next.
struct HeadSteps {
  std::int64_t sample = 0, head = 0, row = 0;

  // Of samples x heads x rows x size, or with `interleaved` samples x rows x heads x size.
  static HeadSteps of(std::int64_t heads, std::int64_t rows, std::int64_t size, bool interleaved) {
    return {heads * rows * size, interleaved ? size : rows * size,
            interleaved ? heads * size : size};
  }
};

struct FewQueriesShape {
  std::int64_t samples = 0, heads = 0, queries = 0, past = 0, head_size = 0, v_head_size = 0;
  std::int64_t group = 1;  // heads of queries for one of keys
  HeadSteps q, past_k, k, past_v, v, y;
  bool mask_per_query = false;

  std::int64_t keys() const { return past + queries; }
};

// The mask of head i begins at mask[offsets[i]].
struct FewQueriesCall {
  const float *q, *past_k, *k, *past_v, *v;
  const float* mask;  // or null
  const std::int64_t* offsets;
  float scale;
  bool zero_rows;
  float* y;
};

// Immutable. A key that a mask of -1e30 or below hides from all queries, each of which sees
// another, is not read: its weight is 0.
class FewQueries {
 public:
  static constexpr std::int64_t most = 4;  // queries

  FewQueries(const FewQueriesShape& shape, int threads, const SimdTables& kernels);

  std::size_t workspace() const noexcept { return workspace_; }
  void run(ThreadPool& pool, const FewQueriesCall& call, void* workspace) const;

 private:
  GemmCall<float> scores_product(std::int64_t keys, std::int64_t k_row) const;
  GemmCall<float> y_product(std::int64_t keys, std::int64_t v_row) const;
  KeyRange seen(const FewQueriesCall& call, std::int64_t head) const;
  void run_head(const FewQueriesCall& call, std::int64_t head, std::byte* memory) const;
  void weights(const FewQueriesCall& call, std::int64_t head, KeyRange seen, float* scores) const;

  FewQueriesShape shape_;
  const SimdTables* kernels_;
  std::size_t scores_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

}  // namespace ondine::math
