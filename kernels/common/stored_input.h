// Inputs and outputs that a kernel in float reads and writes as they are stored, in float32 or in
// bfloat16.
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

// ComputeOut, but where `as_stored` bfloat16 is written by the kernel.
template <class C>
class RoundableOut {
 public:
  RoundableOut(const graph::BindContext& context, Scratch& scratch, std::size_t index,
               std::int64_t count, bool as_stored = true)
      : index_(index) {
    const bool rounds = as_stored && sizeof(C) == sizeof(float) && context.has_output(index) &&
                        context.output_dtype(index) == DType::bfloat16;
    if (!rounds) computed_.emplace(context, scratch, index, count);
  }
  bool is_rounded() const noexcept { return !computed_; }
  // One of them is null.
  C* data(graph::KernelContext& call) const { return computed_ ? computed_->data(call) : nullptr; }
  std::uint16_t* rounded(graph::KernelContext& call) const {
    return computed_ ? nullptr : call.out<std::uint16_t>(index_);
  }
  void store(graph::KernelContext& call) const {
    if (computed_) computed_->store(call);
  }

 private:
  std::size_t index_;
  std::optional<ComputeOut<C>> computed_;
};

}  // namespace ondine::kernels
