// Inputs that a kernel in float reads as they are stored, in float32 or in bfloat16.
#pragma once

#include <optional>

#include "kernels/common/compute_type.h"

namespace ondine::kernels {

// Whether the input holds bfloat16 that a kernel in C can widen itself.
template <class C>
bool is_rounded(const graph::BindContext& context, std::size_t index) {
  return sizeof(C) == sizeof(float) && context.dtype(index) == DType::bfloat16;
}

// ComputeIn, but where `as_stored` elements of bfloat16 are given as they are, as if they were of
// C.
template <class C>
class StoredIn {
 public:
  StoredIn(const graph::BindContext& context, Scratch& scratch, std::size_t index,
           bool as_stored = true)
      : index_(index) {
    if (!as_stored || !is_rounded<C>(context, index)) converted_.emplace(context, scratch, index);
  }
  const C* operator()(graph::KernelContext& call) const {
    return converted_ ? (*converted_)(call) : call.in<C>(index_);
  }

 private:
  std::size_t index_;
  std::optional<ComputeIn<C>> converted_;
};

}  // namespace ondine::kernels
