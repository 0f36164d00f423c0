#include "kernels/conv/primitives/pointwise_grad.h"

#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/sources/grouped_sums.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_bytes = 512 * 1024;  // of dy, which are to stay in a second cache
constexpr Index least_positions = 64;      // of a block, for products need some columns
constexpr Index most_positions = 1024;
constexpr Index most_groups = 4;  // each costs as much as reading and writing dw
constexpr Index work_of_task = Index{1} << 18;

}  // namespace

template <class T>
PointwiseGrad<T>::PointwiseGrad(const PointwiseGradDesc& desc, int threads, const SimdTables& given)
    : desc_(desc), kernels_(&without(given, ProductMode::bf16)) {
  if (desc.batch * desc.in_channels * desc.out_channels * desc.positions == 0) return;
  const Index channels = std::max(desc.in_channels, desc.out_channels);
  const Index fitting = block_bytes / (channels * Index{sizeof(T)});
  blocks_ = divide_up(desc.positions, std::clamp(fitting, least_positions, most_positions));
  block_ = blocks_ == 1 ? desc.positions : round_up(divide_up(desc.positions, blocks_), 16);
  blocks_ = divide_up(desc.positions, block_);
  groups_ = std::min(most_groups, desc.batch * blocks_);
  sums_bytes_ = bytes_of<T>((groups_ - 1) * desc.in_channels * desc.out_channels);
  const SimdTablesOf<T>& set = tables_of<T>(*kernels_);
  slot_bytes_ = align_up(
      std::max(scratch_of(weights_product(block_), set), scratch_of(data_product(block_), set)));
  workspace_ = sums_bytes_ + ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
std::string_view PointwiseGrad<T>::isa() const noexcept {
  return product_isa(*kernels_, weights_product(block_).splits || data_product(block_).splits);
}

template <class T>
GemmCall<T> PointwiseGrad<T>::weights_product(Index count) const {
  GemmCall<T> call{};
  call.m = desc_.out_channels;
  call.n = desc_.in_channels;
  call.k = block_;
  call.splits = splits_factors(call, tables_of<T>(*kernels_));
  call.k = count;
  call.a_row = desc_.positions;
  call.a_col = 1;
  call.b_row = 1;
  call.b_col = desc_.positions;
  call.ldc = desc_.in_channels;
  call.alpha = 1;
  return call;
}

template <class T>
GemmCall<T> PointwiseGrad<T>::data_product(Index count) const {
  GemmCall<T> call{};
  call.m = desc_.in_channels;
  call.n = desc_.positions;
  call.k = desc_.out_channels;
  call.splits = splits_factors(call, tables_of<T>(*kernels_));
  call.n = count;
  call.a_row = 1;
  call.a_col = desc_.in_channels;
  call.b_row = desc_.positions;
  call.b_col = 1;
  call.ldc = desc_.positions;
  call.alpha = 1;
  return call;
}

template <class T>
void PointwiseGrad<T>::run(ThreadPool& pool, const PointwiseGradArgs<T>& args,
                           Workspace workspace) const {
  const Index weights = desc_.in_channels * desc_.out_channels;
  if (blocks_ == 0) {
    std::fill_n(args.dx, desc_.batch * desc_.in_channels * desc_.positions, T{0});
    std::fill_n(args.dw, weights, T{0});
    return;
  }
  auto* const memory = static_cast<std::byte*>(workspace.data);
  T* const sums = reinterpret_cast<T*>(memory);
  const Index all = desc_.batch * blocks_;
  const Index work = weights * block_ * divide_up(all, groups_);
  ScratchPool({memory + sums_bytes_, workspace.bytes - sums_bytes_}, slot_bytes_)
      .for_chunks(pool, groups_, grain_of(work, work_of_task),
                  [&](std::byte* slot, Index group, Index last) {
                    for (; group < last; ++group) {
                      run_blocks(args, all * group / groups_, all * (group + 1) / groups_, slot,
                                 group == 0 ? args.dw : sums + (group - 1) * weights);
                    }
                  });
  add_groups(pool, tables_of<T>(*kernels_), sums, groups_ - 1, weights, args.dw);
}

template <class T>
void PointwiseGrad<T>::run_blocks(const PointwiseGradArgs<T>& args, Index first, Index last,
                                  std::byte* slot, T* sums) const {
  const GemmKernels<T>& gemm = *tables_of<T>(*kernels_).gemm;
  for (Index block = first; block < last; ++block) {
    const Index image = block / blocks_, begin = block % blocks_ * block_;
    const Index count = std::min(block_, desc_.positions - begin);
    const Index at = image * desc_.in_channels * desc_.positions + begin;
    const T* const dy = args.dy + image * desc_.out_channels * desc_.positions + begin;
    // First, for it reads dy by runs of each channel, which the prefetchers of the hardware follow.
    GemmCall<T> weights = weights_product(count);
    weights.a = dy;
    weights.b = args.x + at;
    weights.c = sums;
    weights.beta = block == first ? T{0} : T{1};
    gemm.run(weights, slot);
    GemmCall<T> data = data_product(count);
    data.a = args.w;
    data.b = dy;
    data.c = args.dx + at;
    gemm.run(data, slot);
  }
}

template class PointwiseGrad<float>;
template class PointwiseGrad<double>;

}  // namespace ondine::math
