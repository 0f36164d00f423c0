// Attributes that name a dtype by its number.
#pragma once

#include "graph/contract/node_view.h"

namespace ondine::kernels {

// `otherwise` when absent or 0. Error(invalid_model) when the number is no dtype.
inline DType dtype_attribute(const graph::NodeView& node, std::string_view name,
                             DType otherwise = DType::undefined) {
  const std::int64_t code = node.attr_int(name, 0);
  if (code < 0 || code >= dtype_count) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " is ", code, ", needed: a dtype");
  }
  return code == 0 ? otherwise : static_cast<DType>(code);
}

// One that must be a floating point type with derivatives.
inline DType float_attribute(const graph::NodeView& node, std::string_view name, DType otherwise) {
  const DType dtype = dtype_attribute(node, name, otherwise);
  if (!is_differentiable(dtype)) {
    fail(ErrorCode::mismatch, "attribute ", quoted(name), " is ", dtype,
         ", needed: float, double, float16 or bfloat16");
  }
  return dtype;
}

// One that must be a float with derivatives or an integer type.
inline DType number_attribute(const graph::NodeView& node, std::string_view name, DType otherwise) {
  const DType dtype = dtype_attribute(node, name, otherwise);
  if (!is_differentiable(dtype) && !is_integer(dtype)) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " is ", dtype,
         ", needed: a number type");
  }
  return dtype;
}

}  // namespace ondine::kernels
