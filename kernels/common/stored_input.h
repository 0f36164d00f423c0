// Inputs and outputs that a kernel in float reads and writes as they are stored, in float32 or in
// bfloat16.
#pragma once

#include <optional>

#include "kernels/common/compute_type.h"
#include "kernels/simd/elements.h"

namespace ondine::kernels {

// How a kernel in C reads an input: bfloat16 as it is stored if `as_stored`, which only a kernel in
// float can widen, and otherwise converted elements.
template <class C>
math::Storage storage_of(const graph::BindContext& context, std::size_t index,
                         bool as_stored = true) {
  const bool is_bf16 = sizeof(C) == sizeof(float) && context.dtype(index) == DType::bfloat16;
  return as_stored && is_bf16 ? math::Storage::bf16 : math::Storage::plain;
}

template <class C>
math::Elements<const C> elements_in(graph::KernelContext& call, std::size_t index,
                                    math::Storage storage) {
  return {call.in<void>(index), storage};
}

// ComputeIn, but bfloat16 is not converted where storage_of() says so.
template <class C>
class StoredIn {
 public:
  StoredIn(const graph::BindContext& context, Scratch& scratch, std::size_t index,
           bool as_stored = true)
      : index_(index), storage_(storage_of<C>(context, index, as_stored)) {
    if (storage_ == math::Storage::plain) converted_.emplace(context, scratch, index);
  }
  math::Storage storage() const noexcept { return storage_; }
  math::Elements<const C> operator()(graph::KernelContext& call) const {
    if (converted_) return (*converted_)(call);
    return elements_in<C>(call, index_, storage_);
  }

 private:
  std::size_t index_;
  math::Storage storage_;
  std::optional<ComputeIn<C>> converted_;
};

// ComputeOut, but where `as_stored` bfloat16 is written by the kernel.
template <class C>
class StoredOut {
 public:
  StoredOut(const graph::BindContext& context, Scratch& scratch, std::size_t index,
            std::int64_t count, bool as_stored = true)
      : index_(index) {
    const bool is_bf16 = as_stored && sizeof(C) == sizeof(float) && context.has_output(index) &&
                         context.output_dtype(index) == DType::bfloat16;
    if (!is_bf16) computed_.emplace(context, scratch, index, count);
  }
  math::Storage storage() const noexcept {
    return computed_ ? math::Storage::plain : math::Storage::bf16;
  }
  math::Elements<C> operator()(graph::KernelContext& call) const {
    if (computed_) return computed_->data(call);
    return call.out<bfloat16>(index_);
  }
  void store(graph::KernelContext& call) const {
    if (computed_) computed_->store(call);
  }

 private:
  std::size_t index_;
  std::optional<ComputeOut<C>> computed_;
};

}  // namespace ondine::kernels
