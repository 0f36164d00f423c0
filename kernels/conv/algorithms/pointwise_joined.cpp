// Pointwise convolutions of joined images whose products round their factors: the planes of several
// images are packed side by side as the right factor, once for all blocks of channels of the
// result, which go back to the planes while they are in a cache.
#include "kernels/conv/algorithms/directed_shape.h"
#include "kernels/conv/algorithms/joined_images.h"
#include "kernels/conv/algorithms/plane_rows.h"
#include "kernels/conv/algorithms/pointwise.h"
#include "kernels/matmul/gemm_call.h"
#include "kernels/matmul/packed_gemm.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index packed_channels = 8;  // rows of so many stay in a first cache until packed
// Most rows of a block of the result, or most elements if rows are short.
constexpr Index most_rows = 144;
constexpr Index most_elements = Index{1} << 15;
constexpr Index task_work = Index{1} << 18;

template <class T>
class JoinedPointwiseConv final : public ConvAlgorithm<T> {
 public:
  JoinedPointwiseConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        d_(desc),
        kernels_(kernels),
        gemm_(*this->set_.gemm),
        w_stored_(desc.w_stored),
        y_stored_(desc.y_stored),
        batch_(desc.shape.batch),
        plane_(volume(desc.shape.out)),
        joined_(batch_, plane_),
        block_(even_chunk(d_.outer, std::max(most_rows, most_elements / joined_.row()))) {
    this->shared_bytes_ = bytes_of<T>(packed_elements<T>(joined_.row(), d_.inner, kernels));
    rows_bytes_ = bytes_of<T>(std::max(packed_channels, block_) * joined_.row());
    this->slot_bytes_ =
        rows_bytes_ + align_up(scratch_of(product(block_, joined_.row()), this->set_));
  }

  ConvRounding rounding() const override {
    if (d_.backward) return {};
    return {true, true, gemm_.rounds_result(product(block_, joined_.row()))};
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    T* const panels = this->shared_of(workspace);
    for (Index image = 0; image < batch_; image += joined_.images()) {
      const Index count = joined_.images_from(image);
      pack(pool, workspace, d_.source(args), image, count, panels);
      multiply(pool, workspace, args, image, count, panels);
    }
  }

 private:
  // Without pointers.
  GemmCall<T> product(Index rows, Index columns) const {
    GemmCall<T> call{};
    call.m = rows;
    call.n = columns;
    call.k = d_.inner;
    call.a_row = d_.backward ? 1 : d_.inner;
    call.a_col = d_.backward ? d_.outer : 1;
    call.a = Elements<const T>(w_stored_);
    call.b_row = columns;
    call.b_col = 1;
    call.b_packed = true;
    call.ldc = columns;
    call.c = Elements<T>(y_stored_);
    call.alpha = 1;
    call.activation = this->activation_;
    return call;
  }

  void pack(ThreadPool& pool, Workspace workspace, Elements<const T> source, Index image,
            Index count, T* panels) const {
    const PlaneRows planes{count, d_.inner, plane_, element_bytes<T>(source.storage())};
    const auto* const from = static_cast<const std::byte*>(source.memory()) +
                             static_cast<std::size_t>(image) * planes.offset(1, 0);
    const Index chunks = divide_up(d_.inner, packed_channels);
    const Index grain = grain_of(packed_channels * count * plane_, task_work);
    this->for_tasks(pool, workspace, chunks, grain, [&](Index task, std::byte* slot) {
      const Index first = task * packed_channels;
      const Index some = std::min(packed_channels, d_.inner - first);
      join_rows(planes, from, first, some, slot);
      pack_terms<T>({.n = count * plane_, .k = some}, {slot, source.storage()}, first, d_.inner,
                    panels, kernels_);
    });
  }

  void multiply(ThreadPool& pool, Workspace workspace, const ConvArgs<T>& args, Index image,
                Index count, const T* panels) const {
    const PlaneRows planes{count, d_.outer, plane_, element_bytes<T>(y_stored_)};
    auto* const to = static_cast<std::byte*>(args.result.memory()) +
                     static_cast<std::size_t>(image) * planes.offset(1, 0);
    const Index grain = grain_of(block_ * d_.inner * count * plane_, task_work);
    this->for_tasks(
        pool, workspace, divide_up(d_.outer, block_), grain, [&](Index task, std::byte* slot) {
          const Index first = task * block_;
          GemmCall<T> call = product(std::min(block_, d_.outer - first), count * plane_);
          call.a = args.w + first * call.a_row;
          if (!d_.backward) pair_rows(call);
          call.b = panels;
          call.c = {slot, y_stored_};
          call.row_bias = args.bias ? args.bias + first : nullptr;
          gemm_.run(call, slot + rows_bytes_);
          part_rows(planes, slot, first, call.m, to);
        });
  }

  DirectedShape d_;
  const SimdTables& kernels_;
  const GemmKernels<T>& gemm_;
  Storage w_stored_, y_stored_;
  Index batch_, plane_;
  JoinedImages joined_;
  Index block_;
  std::size_t rows_bytes_ = 0;  // of a slot
};

}  // namespace

template <class T>
bool joins_rounded_images(const ConvDesc& desc, const SimdTables& kernels) {
  const Index plane = volume(desc.shape.out);
  return plane > 1 && rounds_factors<T>(kernels) &&
         JoinedImages(desc.shape.batch, plane).images() > 1;
}

template <class T>
MadeConv<T> make_joined_pointwise(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<JoinedPointwiseConv<T>>(desc, kernels);
}

template bool joins_rounded_images<float>(const ConvDesc&, const SimdTables&);
template bool joins_rounded_images<double>(const ConvDesc&, const SimdTables&);
template MadeConv<float> make_joined_pointwise(const ConvDesc&, const SimdTables&);
template MadeConv<double> make_joined_pointwise(const ConvDesc&, const SimdTables&);

}  // namespace ondine::math
