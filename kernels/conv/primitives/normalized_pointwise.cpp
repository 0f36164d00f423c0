// pointwise: see normalized_conv.h.
#include "kernels/conv/primitives/normalized_conv.h"
#include "kernels/conv/primitives/pointwise_planes.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

//   y[n, o, p] = sum over c of w[o, c] z[n, c, p]
template <class T>
class NormalizedPointwise final : public PointwisePlanes<T, NormalizedConvArgs<T>> {
  using Base = PointwisePlanes<T, NormalizedConvArgs<T>>;
  using Base::batch_, Base::in_, Base::out_, Base::positions_, Base::set_;

 public:
  NormalizedPointwise(const NormalizedConvDesc& desc, const SimdTables& kernels)
      : Base(desc.shape, kernels), source_(desc.norm, in_, positions_, kernels) {
    if (batch_ * out_ * positions_ == 0) return;
    const Index fitting = Base::block_bytes / (std::max<Index>(1, in_) * Index{sizeof(T)});
    Index most = std::max(fitting, Base::least_positions);
    // Threads that would have no image compute a part of one.
    const Index parts = divide_up(2 * Index{desc.threads}, batch_);
    if (desc.threads > 1) {
      most = std::min(most, std::max(divide_up(positions_, parts), Base::least_positions));
    }
    blocks_ = divide_up(positions_, most);
    block_ = blocks_ == 1 ? positions_ : round_up(divide_up(positions_, blocks_), 16);
    blocks_ = divide_up(positions_, block_);
    z_bytes_ = bytes_of<T>(in_ * block_);
    this->slot_bytes_ = z_bytes_ + align_up(scratch_of(product_of(block_), set_));
    this->workspace_ = ScratchPool::bytes(this->slot_bytes_, desc.threads);
  }

  std::string_view isa(const SimdTables& kernels) const override {
    return product_isa(kernels, product_of(block_).splits);
  }

  void run(ThreadPool& pool, const NormalizedConvArgs<T>& args) const override {
    const NormalizedOperand<T> from = source_.operand(pool, args, batch_);
    if (blocks_ == 0) return;
    ScratchPool(args.workspace, this->slot_bytes_)
        .for_chunks(pool, batch_ * blocks_, grain_of(in_ * out_ * block_, Base::work_of_task),
                    [&](std::byte* slot, Index task, Index last) {
                      for (; task < last; ++task) {
                        run_block(args, from, task / blocks_, task % blocks_, slot);
                      }
                    });
  }

 private:
  // The product of so many positions of a block.
  GemmCall<T> product_of(Index count) const {
    auto call = this->product(out_, positions_, in_, {in_, 1, block_, 1, positions_});
    call.n = count;
    return call;
  }

  void run_block(const NormalizedConvArgs<T>& args, const NormalizedOperand<T>& from, Index image,
                 Index block, std::byte* slot) const {
    const Index first = block * block_;
    const Index count = std::min(block_, positions_ - first);
    T* const z = reinterpret_cast<T*>(slot);
    source_.read(from, {image, 0, in_, first, count}, z, block_);
    GemmCall<T> call = product_of(count);
    call.a = args.w;
    call.b = z;
    call.c = args.y + image * out_ * positions_ + first;
    set_.gemm->run(call, slot + z_bytes_);
  }

  NormalizedSource<T> source_;
  Index blocks_ = 0, block_ = 0;  // of positions of an image, and positions of one
  std::size_t z_bytes_ = 0;
};

bool supports(const NormalizedConvDesc& desc, const SimdTables&) {
  return is_pointwise_of_large_planes(desc.shape);
}

}  // namespace

template <class T>
NormalizedConvEntry<T> normalized_pointwise_conv() {
  return {"pointwise", &supports,
          &make_implementation<NormalizedPointwise<T>, NormalizedConvDesc, NormalizedConvArgs<T>>};
}
template NormalizedConvEntry<float> normalized_pointwise_conv();
template NormalizedConvEntry<double> normalized_pointwise_conv();

}  // namespace ondine::math
