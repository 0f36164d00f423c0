// Indexing: Gather, Scatter, Slice, Compress, OneHot, NonZero, Unique, Trilu, EyeLike,
// ReverseSequence, TensorScatter and their gradients. Indices are checked before any element is
// written.
//   element_offsets.h   coordinates as element offsets, for the *Elements and *ND operators (this
//                       header)
//   scatter_grad.h      the derivative of every Scatter operator
//   slice.h             the arithmetic of Slice and SliceGrad
// Gather and GatherGrad index whole slices along one axis by common/index_input.h.
#pragma once

#include "kernels/common/index_input.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels {

// An index input whose entry p addresses length() consecutive elements of a tensor, from element
// read()[p] on. All indices are checked before any is used.
class ElementOffsets {
 public:
  // GatherElements, ScatterElements: entry i of the indices is element i of the tensor with i[axis]
  // replaced.
  static ElementOffsets of_elements(graph::BindContext& context, std::size_t input,
                                    const Shape& tensor, std::int64_t axis);
  // GatherND, ScatterND: the last axis of the indices holds coordinates after `batch_dims` axes
  // that indices and tensor have in common.
  static ElementOffsets of_slices(graph::BindContext& context, std::size_t input,
                                  const Shape& tensor, std::size_t batch_dims);

  std::int64_t count() const noexcept { return count_; }
  std::int64_t length() const noexcept { return length_; }
  // In the workspace.
  const std::int64_t* read(graph::KernelContext& call) const;

 private:
  ElementOffsets(graph::BindContext& context, std::size_t input);

  std::size_t input_;
  DType dtype_;
  std::int64_t count_ = 0;
  std::int64_t length_ = 1;
  std::int64_t coordinates_ = 1;    // of one entry
  std::vector<BoxAxis> axes_;       // of the entries; from: strides in the tensor
  std::vector<std::int64_t> dims_;  // of the axes that the coordinates index
  std::vector<std::int64_t> strides_;
};

// y = the rows at the offsets.
graph::Kernel gather_kernel(DType dtype, const ElementOffsets& offsets);

enum class ScatterReduction : std::uint8_t { none, add, mul, max, min };
// The attribute "reduction". Error(invalid_model) for an unknown value.
ScatterReduction scatter_reduction(const graph::NodeView& node);

// y = x (or zeros, when there is no such input) with updates combined into the rows at the
// offsets, in their order.
graph::Kernel scatter_kernel(DType dtype, std::int64_t size, const ElementOffsets& offsets,
                             ScatterReduction reduction, std::optional<std::size_t> x,
                             std::size_t updates);

}  // namespace ondine::kernels
