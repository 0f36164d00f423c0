// normalized_pointwise: see conv_grads.h.
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/primitives/pointwise_planes.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index longest_run = 2048;   // positions
constexpr Index most_channels = 144;  // of a block
constexpr Index least_tasks = 16;     // where there are images enough

//   dw[o, c] = sum over n and p of dy[n, o, p] z[n, c, p]
template <class T>
class NormalizedPointwiseWeights final : public PointwisePlanes<T, ConvGradsArgs<T>> {
  using Base = PointwisePlanes<T, ConvGradsArgs<T>>;
  using Base::batch_, Base::in_, Base::out_, Base::positions_, Base::set_, Base::groups_;

 public:
  NormalizedPointwiseWeights(const ConvGradsDesc& desc, const SimdTables& kernels)
      : Base(desc.shape, kernels), source_(desc.norm, in_, positions_, kernels) {
    if (is_empty(desc.shape)) return;
    channels_ = even_chunk(in_, most_channels);
    blocks_ = divide_up(in_, channels_);
    const Index fitting = Base::block_bytes / (channels_ * Index{sizeof(T)});
    run_ = even_chunk(positions_, std::min(fitting, longest_run));
    z_bytes_ = bytes_of<T>(channels_ * run_);
    this->slot_bytes_ = z_bytes_ + align_up(scratch_of(product_of(channels_, run_), set_));
    this->plan_sums(std::min(divide_up(least_tasks, blocks_), batch_), desc.threads);
  }

  std::string_view isa(const SimdTables& kernels) const override {
    return product_isa(kernels, product_of(channels_, run_).splits);
  }

  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override {
    if (blocks_ == 0) {
      std::fill_n(args.dw, in_ * out_, T{0});
      return;
    }
    this->sum_groups(pool, args.workspace, blocks_, channels_ * out_ * positions_, args.dw,
                     [&](Index group, Index block, std::byte* slot, T* sums) {
                       const Index channel = block * channels_;
                       run_block(args, batch_ * group / groups_, batch_ * (group + 1) / groups_,
                                 channel, slot, sums + channel);
                     });
  }

 private:
  GemmCall<T> product_of(Index channels, Index count) const {
    auto call = this->product(out_, channels_, run_, {positions_, 1, 1, run_, in_});
    call.n = channels;
    call.k = count;
    return call;
  }

  // Adds up images [first, last) of a block of channels.
  void run_block(const ConvGradsArgs<T>& args, Index first, Index last, Index channel,
                 std::byte* slot, T* sums) const {
    const Index channels = std::min(channels_, in_ - channel);
    const NormalizedOperand<T> from = args.z();
    T* const z = reinterpret_cast<T*>(slot);
    for (Index image = first; image < last; ++image) {
      for (Index begin = 0; begin < positions_; begin += run_) {
        const Index count = std::min(run_, positions_ - begin);
        source_.read(from, {image, channel, channels, begin, count}, z, run_);
        GemmCall<T> call = product_of(channels, count);
        call.a = args.dy + image * out_ * positions_ + begin;
        call.b = z;
        call.c = sums;
        call.beta = image == first && begin == 0 ? T{0} : T{1};
        set_.gemm->run(call, slot + z_bytes_);
      }
    }
  }

  NormalizedSource<T> source_;
  Index blocks_ = 0, channels_ = 0;  // of channels, and channels of one
  Index run_ = 0;                    // positions that are normalized at once
  std::size_t z_bytes_ = 0;
};

bool supports(const ConvGradsDesc& desc, const SimdTables&) {
  return desc.normalized && !desc.all && is_pointwise_of_large_planes(desc.shape);
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
