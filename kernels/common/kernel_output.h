// Where a kernel writes: memory that the plan allotted, or memory allocated once the shape is
// known.
#pragma once

#include "core/message.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

class Output {
 public:
  Output(const graph::BindContext& context, std::size_t i)
      : index_(i), wanted_(context.has_output(i)) {
    if (wanted_) planned_ = context.output_shape(i);
  }

  bool wanted() const noexcept { return wanted_; }

  // Memory for a result of `shape`, nullptr for an unused output. Error(mismatch) when the plan
  // relies on another shape.
  template <class T = void>
  T* memory(graph::KernelContext& call, const Shape& shape) const {
    if (!wanted_) return nullptr;
    if (!planned_) return static_cast<T*>(call.allocate(index_, shape));
    if (!(*planned_ == shape)) {
      fail(ErrorCode::mismatch, "output ", index_, " has shape ", shape, ", not ", *planned_,
           " as declared");
    }
    return call.out<T>(index_);
  }

 private:
  std::size_t index_;
  bool wanted_;
  std::optional<Shape> planned_;
};

}  // namespace ondine::kernels
