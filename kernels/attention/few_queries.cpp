#include "kernels/attention/few_queries.h"

#include <algorithm>
#include <limits>

#include "kernels/common/rounding.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/simd/norm/softmax_table.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

constexpr float hiding = -1e30F;

bool hides(float mask) { return mask <= hiding; }

}  // namespace

FewQueries::FewQueries(const FewQueriesShape& shape, int threads, const SimdTables& kernels)
    : shape_(shape), kernels_(&kernels) {
  scores_bytes_ = bytes_of<float>(checked_mul(shape.queries, shape.keys()));
  std::int64_t scratch = 0;
  const GemmKernels<float>& gemm = *tables_of<float>(kernels).gemm;
  for (const std::int64_t keys : {shape.past, shape.queries}) {
    if (keys == 0) continue;
    const bool past = keys == shape.past;
    for (const HeadSteps& k : {past ? shape.past_k : shape.k, shape.k}) {
      scratch = std::max(scratch, gemm.scratch_bytes(scores_product(keys, k.row)));
    }
    for (const HeadSteps& v : {past ? shape.past_v : shape.v, shape.v}) {
      scratch = std::max(scratch, gemm.scratch_bytes(y_product(keys, v.row)));
    }
  }
  slot_bytes_ = scores_bytes_ + bytes_of<std::byte>(scratch);
  workspace_ = ScratchPool::bytes(slot_bytes_, threads);
}

GemmCall<float> FewQueries::scores_product(std::int64_t keys, std::int64_t k_row) const {
  GemmCall<float> call{};
  call.m = shape_.queries;
  call.n = keys;
  call.k = shape_.head_size;
  call.a_row = shape_.q.row;
  call.a_col = 1;
  call.b_row = 1;
  call.b_col = k_row;
  call.ldc = shape_.keys();
  call.alpha = 1;
  return call;
}

GemmCall<float> FewQueries::y_product(std::int64_t keys, std::int64_t v_row) const {
  GemmCall<float> call{};
  call.m = shape_.queries;
  call.n = shape_.v_head_size;
  call.k = keys;
  call.a_row = shape_.keys();
  call.a_col = 1;
  call.b_row = v_row;
  call.b_col = 1;
  call.ldc = shape_.y.row;
  call.alpha = 1;
  return call;
}

// The earlier keys that a query sees; all of them where a query sees none.
KeyRange FewQueries::seen(const FewQueriesCall& call, std::int64_t head) const {
  const KeyRange all{0, shape_.past};
  if (call.mask == nullptr) return all;
  std::int64_t first = shape_.past, last = 0;
  for (std::int64_t i = 0; i < (shape_.mask_per_query ? shape_.queries : 1); ++i) {
    const float* const mask = call.mask + call.offsets[head] + i * shape_.keys();
    std::int64_t begin = 0, end = shape_.past;
    while (begin < end && hides(mask[begin])) ++begin;
    while (end > begin && hides(mask[end - 1])) --end;
    if (begin == end && std::all_of(mask + shape_.past, mask + shape_.keys(), hides)) return all;
    if (begin == end) continue;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  return {first, std::max<std::int64_t>(0, last - first)};
}

// Rows of scores have those of the earlier keys that are seen, then those of the new ones.
void FewQueries::weights(const FewQueriesCall& call, std::int64_t head, KeyRange seen,
                         float* scores) const {
  const VectorKernels<float>& vector = *tables_of<float>(*kernels_).vector;
  const std::int64_t keys = seen.size + shape_.queries;
  for (std::int64_t i = 0; i < shape_.queries; ++i) {
    float* const row = scores + i * shape_.keys();
    const float* mask = nullptr;
    if (call.mask != nullptr) {
      mask = call.mask + call.offsets[head] + (shape_.mask_per_query ? i : 0) * shape_.keys();
      vector.axpy(row, 1, mask + seen.begin, seen.size);
      vector.axpy(row + seen.size, 1, mask + shape_.past, shape_.queries);
    }
    tables_of<float>(*kernels_).softmax->weights(row, row, keys);
    if (!call.zero_rows || mask == nullptr || row[0] == row[0]) continue;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const bool hidden =
        std::all_of(mask, mask + shape_.keys(), [](float x) { return x == -infinity; });
    if (hidden) std::fill_n(row, keys, 0.0F);
  }
}

void FewQueries::run_head(const FewQueriesCall& call, std::int64_t head, std::byte* memory) const {
  const FewQueriesShape& s = shape_;
  const GemmKernels<float>& gemm = *tables_of<float>(*kernels_).gemm;
  const std::int64_t sample = head / s.heads;
  const auto at = [&](const HeadSteps& steps, std::int64_t heads) {
    return sample * steps.sample + head % s.heads / heads * steps.head;
  };
  auto* const scores = reinterpret_cast<float*>(memory);
  void* const scratch = memory + scores_bytes_;
  float* const y = call.y + at(s.y, 1);
  const KeyRange range = seen(call, head);
  const auto score = [&](const float* k, const HeadSteps& steps, KeyRange keys, float* to) {
    if (keys.size == 0) return;
    GemmCall<float> product = scores_product(keys.size, steps.row);
    product.a = call.q + at(s.q, 1);
    product.b = k + at(steps, s.group) + keys.begin * steps.row;
    product.c = to;
    product.alpha = call.scale;
    gemm.run(product, scratch);
  };
  score(call.past_k, s.past_k, range, scores);
  score(call.k, s.k, {0, s.queries}, scores + range.size);
  weights(call, head, range, scores);
  const auto add = [&](const float* v, const HeadSteps& steps, KeyRange keys, const float* by,
                       float beta) {
    if (keys.size == 0) return;
    GemmCall<float> product = y_product(keys.size, steps.row);
    product.a = by;
    product.b = v + at(steps, s.group) + keys.begin * steps.row;
    product.c = y;
    product.beta = beta;
    gemm.run(product, scratch);
  };
  add(call.past_v, s.past_v, range, scores, 0);
  add(call.v, s.v, {0, s.queries}, scores + range.size, range.size > 0 ? 1.0F : 0.0F);
}

void FewQueries::run(ThreadPool& pool, const FewQueriesCall& call, void* workspace) const {
  // Chunks are worth waking a thread.
  constexpr std::int64_t least_work = std::int64_t{1} << 15;
  const std::int64_t work =
      shape_.queries * shape_.keys() * (shape_.head_size + shape_.v_head_size);
  const std::int64_t grain = divide_up(least_work, std::max<std::int64_t>(1, work));
  ScratchPool slots({workspace, workspace_}, slot_bytes_);
  slots.for_chunks(pool, shape_.samples * shape_.heads, grain,
                   [&](std::byte* memory, std::int64_t first, std::int64_t last) {
                     for (auto i = first; i < last; ++i) run_head(call, i, memory);
                   });
}

}  // namespace ondine::math
