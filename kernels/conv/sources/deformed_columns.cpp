#include "kernels/conv/sources/deformed_columns.h"

namespace ondine::kernels {
namespace {

std::vector<std::int64_t> kernel_dims(const graph::BindContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  if (tensor == nullptr || tensor->size() != 2) {
    fail(ErrorCode::unsupported, "kernel dims must be known when the node is bound");
  }
  const auto values = tensor->values<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace

std::int64_t count_attribute(const graph::NodeView& node, std::string_view name) {
  const std::int64_t count = node.attr_int(name, 1);
  if (count < 1) fail(ErrorCode::mismatch, name, " is ", count, ", must be 1 or more");
  return count;
}

DeformedColumns::DeformedColumns(const graph::BindContext& context, std::size_t first) {
  const Shape x = context.shape(first);
  const Shape offset = context.shape(first + 1);
  const std::vector<std::int64_t> window_dims = kernel_dims(context, first + 3);
  batch = x[0];
  channels = x[1];
  groups = count_attribute(context, "offset_group");
  height = x[2];
  width = x[3];
  kernel_h = window_dims[0];
  kernel_w = window_dims[1];
  out_h = offset[2];
  out_w = offset[3];
  const Window window = read_window(context, window_dims);
  vertical = window.axes[0];
  horizontal = window.axes[1];
  if (channels % groups != 0 || offset[0] != batch || offset[1] != 2 * groups * kernel()) {
    fail(ErrorCode::mismatch, "offset ", offset, " does not fit x ", x);
  }
  if (!context.has_input(first + 2)) return;
  const Shape mask = context.shape(first + 2);
  const Shape needed{batch, groups * kernel(), out_h, out_w};
  if (!(mask == needed)) {
    fail(ErrorCode::mismatch, "mask has shape ", mask, ", needed ", needed);
  }
}

void DeformedColumns::check_columns(const Shape& shape) const {
  if (shape.size() != size()) fail(ErrorCode::mismatch, "dcolumns has shape ", shape);
}

}  // namespace ondine::kernels
