// Shared by the implementations of convolution: their base class, sizes of blocks and predicates of
// shapes.
#pragma once

#include <algorithm>

#include "kernels/common/rounding.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/conv/algorithms/algorithms.h"
#include "kernels/simd/conv/conv_table.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {

// The size of chunks of n elements: nearly the same for all, at most `max`.
inline std::int64_t even_chunk(std::int64_t n, std::int64_t max) {
  const std::int64_t chunks = std::max<std::int64_t>(1, divide_up(n, max));
  return std::max<std::int64_t>(1, divide_up(n, chunks));
}
// Tasks of `work` operations each that are worth a thread together.
inline std::int64_t grain_of(std::int64_t work, std::int64_t worth) {
  return std::max<std::int64_t>(1, worth / std::max<std::int64_t>(1, work));
}

// Whether x, w or y has no elements.
inline bool is_empty(const ConvShape& s) {
  return s.batch == 0 || s.in_channels == 0 || s.out_channels == 0 || volume(s.in) == 0 ||
         volume(s.kernel) == 0 || volume(s.out) == 0;
}
// Whether the first spatial dim is one of a convolution over planes.
inline bool is_planar(const ConvShape& s) {
  return s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad[0] == 0;
}
inline bool is_pointwise(const ConvShape& s) {
  const SpatialDims ones{1, 1, 1};
  return volume(s.kernel) == 1 && s.stride == ones && s.pad == SpatialDims{0, 0, 0} &&
         s.in == s.out;
}
inline ConvPlane plane_of(const ConvShape& s) {
  return {s.in[1],     s.in[2],     s.kernel[1],   s.kernel[2],   s.out[1], s.out[2],
          s.stride[1], s.stride[2], s.dilation[1], s.dilation[2], s.pad[1], s.pad[2]};
}

// Whether products round their factors to bfloat16.
template <class T>
bool rounds_factors(const SimdTables& kernels) {
  return sizeof(T) == sizeof(float) && rounds_products(kernels);
}

template <class T>
std::size_t scratch_of(const GemmCall<T>& call, const SimdTablesOf<T>& set) {
  return bytes_of<std::byte>(set.gemm->scratch_bytes(call));
}

// Whether a product of float32 of this size takes less time with split factors. What may be cut
// depending on the number of threads decides by the whole.
template <class T>
bool splits_factors(const GemmCall<T>& call, const SimdTablesOf<T>& set) {
  return set.gemm->splits != nullptr && set.gemm->splits(call.m, call.n, call.k);
}

// The instruction set of products that split their factors or not.
inline const char* product_isa(const SimdTables& kernels, bool splits) {
  return isa_name(splits ? kernels : without(kernels, ProductMode::split));
}

// The workspace of an implementation is memory that all tasks share, then a slot for each thread.
template <class T>
class ConvAlgorithm : public ConvImplementation<T> {
 public:
  ConvAlgorithm(const ConvDesc& desc, const SimdTables& kernels)
      : shape_(desc.shape), activation_(desc.activation), set_(tables_of<T>(kernels)) {}

  std::size_t workspace(int threads) const override {
    return shared_bytes_ + ScratchPool::bytes(slot_bytes_, threads);
  }

 protected:
  static T* shared_of(Workspace workspace) { return static_cast<T*>(workspace.data); }

  // body(task, slot) for each task, at least `grain` of them on a thread.
  template <class Body>
  void for_tasks(ThreadPool& pool, Workspace workspace, std::int64_t tasks, std::int64_t grain,
                 const Body& body) const {
    const Workspace slots{static_cast<std::byte*>(workspace.data) + shared_bytes_,
                          workspace.bytes - shared_bytes_};
    ScratchPool(slots, slot_bytes_)
        .for_chunks(pool, tasks, grain,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (std::int64_t task = first; task < last; ++task) body(task, slot);
                    });
  }

  ConvShape shape_;
  Activation activation_;
  const SimdTablesOf<T>& set_;
  std::size_t shared_bytes_ = 0;
  std::size_t slot_bytes_ = 0;
};

}  // namespace ondine::math
