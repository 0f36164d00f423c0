// normalized_pointwise: see conv_grads.h.
#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/primitives/normalized_pointwise.h"
#include "kernels/conv/sources/grouped_sums.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_bytes = 512 * 1024;  // of z, which is to stay in a second cache
constexpr Index longest_run = 2048;        // positions
constexpr Index most_channels = 144;       // of a block
constexpr Index least_tasks = 16;          // where there are images enough
constexpr Index work_of_task = Index{1} << 18;

//   dw[o, c] = sum over n and p of dy[n, o, p] z[n, c, p]
template <class T>
class NormalizedPointwiseWeights final : public Implementation<ConvGradsArgs<T>> {
 public:
  NormalizedPointwiseWeights(const ConvGradsDesc& desc, const SimdTables& kernels);

  std::size_t workspace() const override { return workspace_; }
  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override;
  std::string_view isa(const SimdTables& kernels) const override {
    return product_isa(kernels, product(channels_, run_).splits);
  }

 private:
  // Adds up images [first, last) of a block of channels.
  void run_block(const ConvGradsArgs<T>& args, Index first, Index last, Index channel,
                 std::byte* slot, T* sums) const;
  GemmCall<T> product(Index channels, Index count) const;

  const SimdTablesOf<T>& set_;
  Index batch_, in_, out_, positions_;  // in_, out_: channels; positions_: of a plane
  NormalizedSource<T> source_;
  Index blocks_ = 0, channels_ = 0;  // of channels, and channels of one
  Index run_ = 0;                    // positions that are normalized at once
  Index groups_ = 0;                 // of images that are summed apart
  std::size_t sums_bytes_ = 0, z_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

template <class T>
NormalizedPointwiseWeights<T>::NormalizedPointwiseWeights(const ConvGradsDesc& desc,
                                                          const SimdTables& kernels)
    : set_(tables_of<T>(kernels)),
      batch_(desc.shape.batch),
      in_(desc.shape.in_channels),
      out_(desc.shape.out_channels),
      positions_(volume(desc.shape.in)),
      source_(desc.norm, in_, positions_, kernels) {
  if (is_empty(desc.shape)) return;
  channels_ = even_chunk(in_, most_channels);
  blocks_ = divide_up(in_, channels_);
  const Index fitting = block_bytes / (channels_ * Index{sizeof(T)});
  run_ = even_chunk(positions_, std::min(fitting, longest_run));
  groups_ = std::min(divide_up(least_tasks, blocks_), batch_);
  sums_bytes_ = bytes_of<T>((groups_ - 1) * in_ * out_);
  z_bytes_ = bytes_of<T>(channels_ * run_);
  slot_bytes_ = z_bytes_ + align_up(scratch_of(product(channels_, run_), set_));
  workspace_ = sums_bytes_ + ScratchPool::bytes(slot_bytes_, desc.threads);
}

template <class T>
GemmCall<T> NormalizedPointwiseWeights<T>::product(Index channels, Index count) const {
  GemmCall<T> call{};
  call.m = out_;
  call.n = channels_;
  call.k = run_;
  call.splits = splits_factors(call, set_);
  call.n = channels;
  call.k = count;
  call.a_row = positions_;
  call.a_col = 1;
  call.b_row = 1;
  call.b_col = run_;
  call.ldc = in_;
  call.alpha = 1;
  return call;
}

template <class T>
void NormalizedPointwiseWeights<T>::run(ThreadPool& pool, const ConvGradsArgs<T>& args) const {
  if (blocks_ == 0) {
    std::fill_n(args.dw, in_ * out_, T{0});
    return;
  }
  auto* const memory = static_cast<std::byte*>(args.workspace.data);
  T* const sums = reinterpret_cast<T*>(memory);
  const auto sums_of = [&](Index group) {
    return group == 0 ? args.dw : sums + (group - 1) * in_ * out_;
  };
  const Index work = channels_ * out_ * positions_;
  ScratchPool({memory + sums_bytes_, args.workspace.bytes - sums_bytes_}, slot_bytes_)
      .for_chunks(pool, groups_ * blocks_, grain_of(work, work_of_task),
                  [&](std::byte* slot, Index task, Index last) {
                    for (; task < last; ++task) {
                      const Index group = task / blocks_;
                      const Index channel = task % blocks_ * channels_;
                      run_block(args, batch_ * group / groups_, batch_ * (group + 1) / groups_,
                                channel, slot, sums_of(group) + channel);
                    }
                  });
  add_groups(pool, set_, sums, groups_ - 1, in_ * out_, args.dw);
}

template <class T>
void NormalizedPointwiseWeights<T>::run_block(const ConvGradsArgs<T>& args, Index first, Index last,
                                              Index channel, std::byte* slot, T* sums) const {
  const Index channels = std::min(channels_, in_ - channel);
  const NormalizedOperand<T> from = args.z();
  T* const z = reinterpret_cast<T*>(slot);
  for (Index image = first; image < last; ++image) {
    for (Index begin = 0; begin < positions_; begin += run_) {
      const Index count = std::min(run_, positions_ - begin);
      source_.read(from, {image, channel, channels, begin, count}, z, run_);
      GemmCall<T> call = product(channels, count);
      call.a = args.dy + image * out_ * positions_ + begin;
      call.b = z;
      call.c = sums;
      call.beta = image == first && begin == 0 ? T{0} : T{1};
      set_.gemm->run(call, slot + z_bytes_);
    }
  }
}

bool supports(const ConvGradsDesc& desc, const SimdTables&) {
  return desc.normalized && !desc.all && normalized_pointwise(desc.shape, desc.norm).has_value();
}

}  // namespace

template <class T>
ConvGradsEntry<T> normalized_pointwise_grads() {
  return {"normalized_pointwise", &supports,
          &make_implementation<NormalizedPointwiseWeights<T>, ConvGradsDesc, ConvGradsArgs<T>>};
}
template ConvGradsEntry<float> normalized_pointwise_grads();
template ConvGradsEntry<double> normalized_pointwise_grads();

}  // namespace ondine::math
