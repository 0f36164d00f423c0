#include "kernels/conv/primitives/normalized_pointwise.h"

#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_bytes = 512 * 1024;  // of what is to stay in a second cache
constexpr Index least_positions = 64;      // of a block, for products need some columns
constexpr Index work_of_task = Index{1} << 18;

constexpr Index least_plane = 196;  // positions

}  // namespace

std::optional<NormalizedPointwiseDesc> normalized_pointwise(const ConvShape& shape,
                                                            const BatchNormDesc& norm) {
  const Index positions = volume(shape.in);
  if (!is_pointwise(shape) || shape.groups != 1 || positions < least_plane) return std::nullopt;
  return NormalizedPointwiseDesc{shape.batch, shape.in_channels, shape.out_channels, positions,
                                 norm};
}

template <class T>
NormalizedPointwiseConv<T>::NormalizedPointwiseConv(const NormalizedPointwiseDesc& desc,
                                                    int threads, const SimdTables& given)
    : desc_(desc),
      kernels_(&without(given, ProductMode::bf16)),
      source_(desc.norm, desc.in_channels, desc.positions, *kernels_) {
  if (desc.batch * desc.out_channels * desc.positions == 0) return;
  const Index fitting = block_bytes / (std::max<Index>(1, desc.in_channels) * Index{sizeof(T)});
  Index most = std::max(fitting, least_positions);
  // Threads that would have no image compute a part of one.
  const Index parts = divide_up(2 * Index{threads}, desc.batch);
  if (threads > 1)
    most = std::min(most, std::max(divide_up(desc.positions, parts), least_positions));
  blocks_ = divide_up(desc.positions, most);
  block_ = blocks_ == 1 ? desc.positions : round_up(divide_up(desc.positions, blocks_), 16);
  blocks_ = divide_up(desc.positions, block_);
  z_bytes_ = bytes_of<T>(desc.in_channels * block_);
  slot_bytes_ = z_bytes_ + align_up(scratch_of(product(block_), tables_of<T>(*kernels_)));
  workspace_ = ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
std::string_view NormalizedPointwiseConv<T>::isa() const noexcept {
  return product_isa(*kernels_, product(block_).splits);
}

template <class T>
GemmCall<T> NormalizedPointwiseConv<T>::product(Index count) const {
  GemmCall<T> call{};
  call.m = desc_.out_channels;
  call.n = desc_.positions;
  call.k = desc_.in_channels;
  call.splits = splits_factors(call, tables_of<T>(*kernels_));
  call.n = count;
  call.a_row = call.k;
  call.a_col = 1;
  call.b_row = block_;
  call.b_col = 1;
  call.ldc = desc_.positions;
  call.alpha = 1;
  return call;
}

template <class T>
void NormalizedPointwiseConv<T>::run(ThreadPool& pool, const NormalizedConvArgs<T>& args,
                                     Workspace workspace) const {
  const NormalizedOperand<T> from = source_.operand(pool, args, desc_.batch);
  if (blocks_ == 0) return;
  const Index work = desc_.in_channels * desc_.out_channels * block_;
  ScratchPool(workspace, slot_bytes_)
      .for_chunks(pool, desc_.batch * blocks_, grain_of(work, work_of_task),
                  [&](std::byte* slot, Index task, Index last) {
                    for (; task < last; ++task) {
                      run_block(args, from, task / blocks_, task % blocks_, slot);
                    }
                  });
}

template <class T>
void NormalizedPointwiseConv<T>::run_block(const NormalizedConvArgs<T>& args,
                                           const NormalizedOperand<T>& from, Index image,
                                           Index block, std::byte* slot) const {
  const Index first = block * block_;
  const Index count = std::min(block_, desc_.positions - first);
  T* const z = reinterpret_cast<T*>(slot);
  source_.read(from, {image, 0, desc_.in_channels, first, count}, z, block_);
  GemmCall<T> call = product(count);
  call.a = args.w;
  call.b = z;
  call.c = args.y + image * desc_.out_channels * desc_.positions + first;
  tables_of<T>(*kernels_).gemm->run(call, slot + z_bytes_);
}

template class NormalizedPointwiseConv<float>;
template class NormalizedPointwiseConv<double>;

}  // namespace ondine::math
