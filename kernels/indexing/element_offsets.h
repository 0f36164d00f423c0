// Index inputs turned into places in memory: what the Gather and Scatter operators that name single
// elements or slices by their coordinates share.
#pragma once

#include "kernels/common/index_input.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels {

// Entry p of an index input stands for length() consecutive elements of a tensor, from element
// read()[p] on. All indices are checked before any is used.
class Offsets {
 public:
  // GatherElements, ScatterElements: entry i of the indices is element i of the tensor with i[axis]
  // replaced.
  static Offsets of_elements(graph::BindContext& context, std::size_t input, const Shape& tensor,
                             std::int64_t axis);
  // GatherND, ScatterND: the last axis of the indices holds coordinates behind `batch_dims` axes
  // that indices and tensor have in common.
  static Offsets of_slices(graph::BindContext& context, std::size_t input, const Shape& tensor,
                           std::size_t batch_dims);

  std::int64_t count() const noexcept { return count_; }
  std::int64_t length() const noexcept { return length_; }
  // In the workspace.
  const std::int64_t* read(graph::KernelContext& call) const;

 private:
  Offsets(graph::BindContext& context, std::size_t input);

  std::size_t input_;
  DType dtype_;
  std::int64_t count_ = 0;
  std::int64_t length_ = 1;
  std::int64_t coordinates_ = 1;       // of one entry
  std::vector<BoxAxis> axes_;          // of the entries; from: strides in the tensor
  std::vector<std::int64_t> extents_;  // that the coordinates index
  std::vector<std::int64_t> strides_;
};

// y = the rows at the offsets.
graph::Kernel gather_kernel(DType dtype, const Offsets& offsets);

enum class ScatterReduction : std::uint8_t { none, add, mul, max, min };
// The attribute "reduction". Error(invalid_model) for another word.
ScatterReduction scatter_reduction(const graph::NodeView& node);

// y = x (or zeros, when there is no such input) with updates combined into the rows at the
// offsets, in their order.
graph::Kernel scatter_kernel(DType dtype, std::int64_t size, const Offsets& offsets,
                             ScatterReduction reduction, std::optional<std::size_t> x,
                             std::size_t updates);

}  // namespace ondine::kernels
