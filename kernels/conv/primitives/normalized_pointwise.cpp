#include "kernels/conv/primitives/normalized_pointwise.h"

#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/sources/grouped_sums.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_bytes = 512 * 1024;  // of what is to stay in a second cache
constexpr Index least_positions = 64;      // of a block, for products need some columns
constexpr Index longest_run = 2048;        // positions
constexpr Index most_channels = 144;       // of a block of the derivative
constexpr Index least_tasks = 16;          // of the derivative, where there are images enough
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

template <class T>
NormalizedPointwiseWeights<T>::NormalizedPointwiseWeights(const NormalizedPointwiseDesc& desc,
                                                          int threads, const SimdTables& given)
    : desc_(desc),
      kernels_(&without(given, ProductMode::bf16)),
      source_(desc.norm, desc.in_channels, desc.positions, *kernels_) {
  if (desc.batch * desc.in_channels * desc.out_channels * desc.positions == 0) return;
  channels_ = even_chunk(desc.in_channels, most_channels);
  blocks_ = divide_up(desc.in_channels, channels_);
  const Index fitting = block_bytes / (channels_ * Index{sizeof(T)});
  run_ = even_chunk(desc.positions, std::min(fitting, longest_run));
  groups_ = std::min(divide_up(least_tasks, blocks_), desc.batch);
  sums_bytes_ = bytes_of<T>((groups_ - 1) * desc.in_channels * desc.out_channels);
  z_bytes_ = bytes_of<T>(channels_ * run_);
  slot_bytes_ = z_bytes_ + align_up(scratch_of(product(channels_, run_), tables_of<T>(*kernels_)));
  workspace_ = sums_bytes_ + ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
std::string_view NormalizedPointwiseWeights<T>::isa() const noexcept {
  return product_isa(*kernels_, product(channels_, run_).splits);
}

template <class T>
GemmCall<T> NormalizedPointwiseWeights<T>::product(Index channels, Index count) const {
  GemmCall<T> call{};
  call.m = desc_.out_channels;
  call.n = channels_;
  call.k = run_;
  call.splits = splits_factors(call, tables_of<T>(*kernels_));
  call.n = channels;
  call.k = count;
  call.a_row = desc_.positions;
  call.a_col = 1;
  call.b_row = 1;
  call.b_col = run_;
  call.ldc = desc_.in_channels;
  call.alpha = 1;
  return call;
}

template <class T>
void NormalizedPointwiseWeights<T>::run(ThreadPool& pool, const NormalizedConvWeightsArgs<T>& args,
                                        Workspace workspace) const {
  const Index in = desc_.in_channels, out = desc_.out_channels;
  if (blocks_ == 0) {
    std::fill_n(args.dw, in * out, T{0});
    return;
  }
  auto* const memory = static_cast<std::byte*>(workspace.data);
  T* const sums = reinterpret_cast<T*>(memory);
  const auto sums_of = [&](Index group) {
    return group == 0 ? args.dw : sums + (group - 1) * in * out;
  };
  const Index work = channels_ * out * desc_.positions;
  ScratchPool({memory + sums_bytes_, workspace.bytes - sums_bytes_}, slot_bytes_)
      .for_chunks(pool, groups_ * blocks_, grain_of(work, work_of_task),
                  [&](std::byte* slot, Index task, Index last) {
                    for (; task < last; ++task) {
                      const Index group = task / blocks_;
                      const Index channel = task % blocks_ * channels_;
                      run_block(args, desc_.batch * group / groups_,
                                desc_.batch * (group + 1) / groups_, channel, slot,
                                sums_of(group) + channel);
                    }
                  });
  add_groups(pool, tables_of<T>(*kernels_), sums, groups_ - 1, in * out, args.dw);
}

template <class T>
void NormalizedPointwiseWeights<T>::run_block(const NormalizedConvWeightsArgs<T>& args, Index first,
                                              Index last, Index channel, std::byte* slot,
                                              T* sums) const {
  const Index channels = std::min(channels_, desc_.in_channels - channel);
  T* const z = reinterpret_cast<T*>(slot);
  for (Index image = first; image < last; ++image) {
    for (Index begin = 0; begin < desc_.positions; begin += run_) {
      const Index count = std::min(run_, desc_.positions - begin);
      source_.read(args.z, {image, channel, channels, begin, count}, z, run_);
      GemmCall<T> call = product(channels, count);
      call.a = args.dy + image * desc_.out_channels * desc_.positions + begin;
      call.b = z;
      call.c = sums;
      call.beta = image == first && begin == 0 ? T{0} : T{1};
      tables_of<T>(*kernels_).gemm->run(call, slot + z_bytes_);
    }
  }
}

template class NormalizedPointwiseConv<float>;
template class NormalizedPointwiseConv<double>;
template class NormalizedPointwiseWeights<float>;
template class NormalizedPointwiseWeights<double>;

}  // namespace ondine::math
