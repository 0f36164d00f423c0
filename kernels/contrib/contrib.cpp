#include "kernels/contrib/contrib.h"

#include <algorithm>

#include "kernels/common/infer_checks.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

void check_call(const InferContext& context, const ContribCall& call) {
  for (std::size_t i = 0; i < 32; ++i) {
    if ((call.required >> i & 1U) != 0 && !context.has_input(i)) {
      fail(ErrorCode::invalid_model, "input ", i, " is missing");
    }
  }
  for (std::size_t i = call.inputs; i < context.input_count(); ++i) {
    if (context.has_input(i)) fail(ErrorCode::unsupported, "input ", i, " is not supported");
  }
  for (std::size_t i = call.outputs; i < context.output_count(); ++i) {
    if (context.has_output(i)) fail(ErrorCode::unsupported, "output ", i, " is not supported");
  }
  for (const Attribute& attribute : context.node().attributes) {
    if (std::find(call.attributes.begin(), call.attributes.end(), attribute.name) ==
        call.attributes.end()) {
      fail(ErrorCode::unsupported, "attribute ", quoted(attribute.name), " is not supported");
    }
  }
}

void require_value(const NodeView& node, std::string_view attribute, std::int64_t value) {
  const std::int64_t found = node.attr_int(attribute, value);
  if (found != value) {
    fail(ErrorCode::unsupported, attribute, " is ", found, ", only ", value, " is supported");
  }
}

void require_floats(const InferContext& context, std::initializer_list<std::size_t> inputs) {
  require_same_dtype(context, inputs);
  for (const std::size_t i : inputs) {
    if (!context.has_input(i) || is_differentiable(context.dtype(i))) continue;
    context.reject("input ", i, " is ", context.dtype(i),
                   ", needed: float, double, float16 or bfloat16");
  }
}

void require_bytes(const InferContext& context, std::size_t input) {
  const DType dtype = context.dtype(input);
  if (dtype == DType::int8 || dtype == DType::uint8) return;
  context.reject("input ", input, " is ", dtype, ", needed: int8 or uint8");
}

void require_rank(const NodeView& node, Val x) {
  if (!x.ranked()) fail(ErrorCode::unsupported, node.node().op->name, " needs a known rank");
}

std::int64_t positive_attribute(const NodeView& node, std::string_view name) {
  const std::int64_t value = node.attr_int(name, 0);
  if (value < 1) fail(ErrorCode::mismatch, name, " is ", value, ", needed: 1 or more");
  return value;
}

Attributes pick_attributes(const NodeView& node, std::initializer_list<std::string_view> names) {
  Attributes result;
  for (const Attribute& attribute : node.node().attributes) {
    if (std::find(names.begin(), names.end(), attribute.name) != names.end()) {
      result.push_back(attribute);
    }
  }
  return result;
}

Val add_if(Val x, Val y) { return y ? x + y : x; }

}  // namespace ondine::kernels
