// A convolution of planes that are normalized by the statistics of the batch, and its derivative by
// the weights, in float and double, by any implementation of ConvPrimitive: for NormalizedConv and
// ConvGrads. Some images at a time are normalized in scratch memory, from where they are convolved;
// the normalized planes of the batch are not stored.
#pragma once

#include <string_view>

#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/primitives/conv_primitive.h"
#include "kernels/conv/sources/normalized_source.h"

namespace ondine::math {

struct NormalizedImagesDesc {
  ConvShape shape;
  BatchNormDesc norm;  // epsilon and the activation of z
};

// The images that are normalized at once, the same for any number of threads. Const and safe to run
// from several threads, each with a workspace of its own.
template <class T>
class NormalizedImages final : public Implementation<ConvGradsArgs<T>> {
 public:
  // Either forward or backward_weights.
  NormalizedImages(const NormalizedImagesDesc& desc, ConvDirection direction, int threads,
                   const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const override { return workspace_; }
  // forward
  void run(ThreadPool& pool, const NormalizedConvArgs<T>& args, Workspace workspace) const;
  // backward_weights: sums of the groups of images are added in their order.
  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override;
  std::string_view name() const noexcept { return whole_.name(); }  // of the convolution
  std::string_view isa() const noexcept { return whole_.isa(); }
  std::string_view isa(const SimdTables&) const override { return isa(); }

 private:
  // body(conv, first image, z, workspace of conv) for each group of images.
  template <class Body>
  void for_groups(ThreadPool& pool, const NormalizedOperand<T>& from, Workspace workspace,
                  Body&& body) const;

  ConvShape shape_;
  const SimdTables* kernels_;
  NormalizedSource<T> source_;
  std::int64_t images_;            // of a group
  ConvPrimitive<T> whole_, rest_;  // of a group, and of the last one
  std::size_t z_bytes_, sums_bytes_ = 0, workspace_;
};

}  // namespace ondine::math
