// pointwise: see conv_grads.h.
#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/sources/grouped_sums.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index block_bytes = 512 * 1024;  // of dy, which are to stay in a second cache
constexpr Index least_positions = 64;      // of a block, for products need some columns
constexpr Index most_positions = 1024;
constexpr Index most_groups = 4;  // each costs as much as reading and writing dw
constexpr Index work_of_task = Index{1} << 18;

//   dx[n, c, p] = sum over o of w[o, c] dy[n, o, p]
//   dw[o, c] = sum over n and p of dy[n, o, p] x[n, c, p]
template <class T>
class PointwiseGrad final : public Implementation<ConvGradsArgs<T>> {
 public:
  PointwiseGrad(const ConvGradsDesc& desc, const SimdTables& kernels);

  std::size_t workspace() const override { return workspace_; }
  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override;
  std::string_view isa(const SimdTables& kernels) const override {
    return product_isa(kernels, weights_product(block_).splits || data_product(block_).splits);
  }

 private:
  // Computes the gradients of blocks [first, last); adds up dw in `sums`.
  void run_blocks(const ConvGradsArgs<T>& args, Index first, Index last, std::byte* slot,
                  T* sums) const;
  // Products of so many positions, without pointers.
  GemmCall<T> data_product(Index count) const;
  GemmCall<T> weights_product(Index count) const;

  const SimdTablesOf<T>& set_;
  Index batch_, in_, out_, positions_;  // in_, out_: channels; positions_: of a plane
  Index blocks_ = 0, block_ = 0;        // of positions of an image, and positions of one
  Index groups_ = 0;                    // of blocks that are summed apart
  std::size_t sums_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

template <class T>
PointwiseGrad<T>::PointwiseGrad(const ConvGradsDesc& desc, const SimdTables& kernels)
    : set_(tables_of<T>(kernels)),
      batch_(desc.shape.batch),
      in_(desc.shape.in_channels),
      out_(desc.shape.out_channels),
      positions_(volume(desc.shape.in)) {
  if (is_empty(desc.shape)) return;
  const Index channels = std::max(in_, out_);
  const Index fitting = block_bytes / (channels * Index{sizeof(T)});
  blocks_ = divide_up(positions_, std::clamp(fitting, least_positions, most_positions));
  block_ = blocks_ == 1 ? positions_ : round_up(divide_up(positions_, blocks_), 16);
  blocks_ = divide_up(positions_, block_);
  groups_ = std::min(most_groups, batch_ * blocks_);
  sums_bytes_ = bytes_of<T>((groups_ - 1) * in_ * out_);
  slot_bytes_ = align_up(
      std::max(scratch_of(weights_product(block_), set_), scratch_of(data_product(block_), set_)));
  workspace_ = sums_bytes_ + ScratchPool::bytes(slot_bytes_, desc.threads);
}

template <class T>
GemmCall<T> PointwiseGrad<T>::weights_product(Index count) const {
  GemmCall<T> call{};
  call.m = out_;
  call.n = in_;
  call.k = block_;
  call.splits = splits_factors(call, set_);
  call.k = count;
  call.a_row = positions_;
  call.a_col = 1;
  call.b_row = 1;
  call.b_col = positions_;
  call.ldc = in_;
  call.alpha = 1;
  return call;
}

template <class T>
GemmCall<T> PointwiseGrad<T>::data_product(Index count) const {
  GemmCall<T> call{};
  call.m = in_;
  call.n = positions_;
  call.k = out_;
  call.splits = splits_factors(call, set_);
  call.n = count;
  call.a_row = 1;
  call.a_col = in_;
  call.b_row = positions_;
  call.b_col = 1;
  call.ldc = positions_;
  call.alpha = 1;
  return call;
}

template <class T>
void PointwiseGrad<T>::run(ThreadPool& pool, const ConvGradsArgs<T>& args) const {
  const Index weights = in_ * out_;
  if (blocks_ == 0) {
    std::fill_n(args.dx, batch_ * in_ * positions_, T{0});
    std::fill_n(args.dw, weights, T{0});
    return;
  }
  auto* const memory = static_cast<std::byte*>(args.workspace.data);
  T* const sums = reinterpret_cast<T*>(memory);
  const Index all = batch_ * blocks_;
  const Index work = weights * block_ * divide_up(all, groups_);
  ScratchPool({memory + sums_bytes_, args.workspace.bytes - sums_bytes_}, slot_bytes_)
      .for_chunks(pool, groups_, grain_of(work, work_of_task),
                  [&](std::byte* slot, Index group, Index last) {
                    for (; group < last; ++group) {
                      run_blocks(args, all * group / groups_, all * (group + 1) / groups_, slot,
                                 group == 0 ? args.dw : sums + (group - 1) * weights);
                    }
                  });
  add_groups(pool, set_, sums, groups_ - 1, weights, args.dw);
}

template <class T>
void PointwiseGrad<T>::run_blocks(const ConvGradsArgs<T>& args, Index first, Index last,
                                  std::byte* slot, T* sums) const {
  const GemmKernels<T>& gemm = *set_.gemm;
  for (Index block = first; block < last; ++block) {
    const Index image = block / blocks_, begin = block % blocks_ * block_;
    const Index count = std::min(block_, positions_ - begin);
    const Index at = image * in_ * positions_ + begin;
    const T* const dy = args.dy + image * out_ * positions_ + begin;
    // First, for it reads dy by runs of each channel, which the prefetchers of the hardware follow.
    GemmCall<T> weights = weights_product(count);
    weights.a = dy;
    weights.b = args.x.plain() + at;
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
