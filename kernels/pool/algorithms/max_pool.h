// Helpers that the implementations of max pooling share.
#pragma once

#include <limits>

#include "kernels/pool/algorithms/windows.h"
#include "kernels/pool/storage_order.h"

namespace ondine::math {

inline bool is_max_forward(const PoolDesc& desc) {
  return desc.kind == PoolKind::max && !desc.backward;
}

template <class T>
class MaxPool : public PoolAlgorithm<T> {
 public:
  // Error(limit) for planes whose positions a kernel cannot count.
  MaxPool(const PoolDesc& desc, const SimdTables& kernels) : PoolAlgorithm<T>(desc, kernels) {
    if (this->in_plane() > std::numeric_limits<PoolCode<T>>::max() / 2) {
      fail(ErrorCode::limit, "max pooling of planes of ", this->in_plane(), " elements");
    }
  }

 protected:
  // The indices of plane i, found in row-major order, in the order that is wanted.
  void reorder(std::int64_t i, std::int64_t* indices) const {
    if (!this->desc_.column_major) return;
    const std::int64_t start = i * this->in_plane();
    for (std::int64_t o = 0; o < this->out_plane(); ++o) {
      indices[o] = start + to_column_major(this->desc_.shape.in, indices[o] - start);
    }
  }
};

}  // namespace ondine::math
