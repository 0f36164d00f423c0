// pointwise: see conv_grads.h.
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/primitives/pointwise_planes.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_positions = 1024;  // of a block
constexpr Index most_groups = 4;        // each costs as much as reading and writing dw

//   dx[n, c, p] = sum over o of w[o, c] dy[n, o, p]
//   dw[o, c] = sum over n and p of dy[n, o, p] x[n, c, p]
template <class T>
class PointwiseGrad final : public PointwisePlanes<T, ConvGradsArgs<T>> {
  using Base = PointwisePlanes<T, ConvGradsArgs<T>>;
  using Base::batch_, Base::in_, Base::out_, Base::positions_, Base::set_, Base::groups_;

 public:
  PointwiseGrad(const ConvGradsDesc& desc, const SimdTables& kernels) : Base(desc.shape, kernels) {
    if (is_empty(desc.shape)) return;
    // Some blocks of dy stay in a second cache.
    const Index fitting = Base::block_bytes / (std::max(in_, out_) * Index{sizeof(T)});
    blocks_ = divide_up(positions_, std::clamp(fitting, Base::least_positions, most_positions));
    block_ = blocks_ == 1 ? positions_ : round_up(divide_up(positions_, blocks_), 16);
    blocks_ = divide_up(positions_, block_);
    this->slot_bytes_ = align_up(std::max(scratch_of(weights_product(block_), set_),
                                          scratch_of(data_product(block_), set_)));
    this->plan_sums(std::min(most_groups, batch_ * blocks_), desc.threads);
  }

  std::string_view isa(const SimdTables& kernels) const override {
    return product_isa(kernels, weights_product(block_).splits || data_product(block_).splits);
  }

  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override {
    if (blocks_ == 0) {
      std::fill_n(args.dx, batch_ * in_ * positions_, T{0});
      std::fill_n(args.dw, in_ * out_, T{0});
      return;
    }
    const Index all = batch_ * blocks_;
    const Index work = in_ * out_ * block_ * divide_up(all, groups_);
    this->sum_groups(
        pool, args.workspace, 1, work, args.dw, [&](Index group, Index, std::byte* slot, T* sums) {
          run_blocks(args, all * group / groups_, all * (group + 1) / groups_, slot, sums);
        });
  }

 private:
  // Products of so many positions of a block.
  GemmCall<T> data_product(Index count) const {
    auto call = this->product(in_, positions_, out_, {1, in_, positions_, 1, positions_});
    call.n = count;
    return call;
  }
  GemmCall<T> weights_product(Index count) const {
    auto call = this->product(out_, in_, block_, {positions_, 1, 1, positions_, in_});
    call.k = count;
    return call;
  }

  // Computes the gradients of blocks [first, last); adds up dw in `sums`.
  void run_blocks(const ConvGradsArgs<T>& args, Index first, Index last, std::byte* slot,
                  T* sums) const {
    for (Index block = first; block < last; ++block) {
      const Index image = block / blocks_, begin = block % blocks_ * block_;
      const Index count = std::min(block_, positions_ - begin);
      const Index at = image * in_ * positions_ + begin;
      const T* const dy = args.dy + image * out_ * positions_ + begin;
      // First, for it reads dy by runs of each channel, which the prefetchers of the hardware
      // follow.
      GemmCall<T> weights = weights_product(count);
      weights.a = dy;
      weights.b = args.x.plain() + at;
      weights.c = sums;
      weights.beta = block == first ? T{0} : T{1};
      set_.gemm->run(weights, slot);
      GemmCall<T> data = data_product(count);
      data.a = args.w;
      data.b = dy;
      data.c = args.dx + at;
      set_.gemm->run(data, slot);
    }
  }

  Index blocks_ = 0, block_ = 0;  // of positions of an image, and positions of one
};

bool supports(const ConvGradsDesc& desc, const SimdTables&) {
  return !desc.normalized && desc.all && is_pointwise(desc.shape) && desc.shape.groups == 1;
}

}  // namespace

template <class T>
ConvGradsEntry<T> pointwise_grads() {
  return {"pointwise", &supports,
          &make_implementation<PointwiseGrad<T>, ConvGradsDesc, ConvGradsArgs<T>>};
}
template ConvGradsEntry<float> pointwise_grads();
template ConvGradsEntry<double> pointwise_grads();

}  // namespace ondine::math
