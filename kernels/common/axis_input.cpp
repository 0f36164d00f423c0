#include "kernels/common/axis_input.h"

namespace ondine::kernels {

std::size_t axis_from(std::span<const std::int64_t> values, std::size_t rank) {
  if (values.size() != 1) {
    fail(ErrorCode::mismatch, "the axis has ", values.size(), " elements, not one");
  }
  return graph::NodeView::normalize_axis(values[0], rank);
}

void infer_along_axis(graph::InferContext& context, std::size_t axis_input) {
  const IntegerParameter axis(context, axis_input);
  if (!axis.given()) fail(ErrorCode::invalid_model, "the axis is missing");
  if (axis.known() && context.ranked(0)) axis_from(axis.values(), context.rank(0));
  context.set_output(0, context.input(0));
}

}  // namespace ondine::kernels
