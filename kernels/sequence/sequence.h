// Sequences and optionals: SequenceConstruct, SequenceInsert, SequenceErase, SequenceAt,
// SplitToSequence, ConcatFromSequence, Optional and their gradients. Elements are shared, not
// copied. Derivatives by sequences are sequences (common/nested_gradient.h). This header: reading
// sequences and positions from a kernel's inputs.
#pragma once

#include "kernels/common/op.h"

namespace ondine::kernels {

// The element type of a sequence or optional; its kind is `unknown` where the element type is not
// known.
graph::Type element_type(const graph::Type& type);

// The elements of input i, which must be a sequence.
std::vector<Value> sequence_elements(graph::KernelContext& call, std::size_t i);

// The position that input i names in a sequence of `count` elements, negative ones counted from the
// end; `otherwise` without that input. Error(mismatch) unless 0 <= position < bound.
class PositionInput {
 public:
  PositionInput(const graph::BindContext& context, std::size_t input);
  std::size_t read(const graph::KernelContext& call, std::size_t count, std::size_t bound,
                   std::size_t otherwise) const;

 private:
  std::size_t input_;
  bool given_;
  DType dtype_ = DType::int64;
};

}  // namespace ondine::kernels
