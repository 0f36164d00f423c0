// Activations that fused operators apply before a result is stored.
#include "kernels/matmul/fused_activation.h"

#include <algorithm>

#include "kernels/common/op.h"

namespace ondine::kernels::ops {

math::Activation named_activation(const NodeView& node, std::string_view attribute) {
  const std::string name = node.attr_string(attribute, "");
  if (name.empty()) return math::Activation::none;
  if (name == "Relu") return math::Activation::relu;
  if (name == "Relu6") return math::Activation::relu6;
  if (name == "HardSwish") return math::Activation::hard_swish;
  if (name == "Swish") return math::Activation::swish;
  fail(ErrorCode::mismatch, "unknown activation ", quoted(name));
}

math::Activation fused_activation(const NodeView& node, std::string_view attribute) {
  const math::Activation activation = named_activation(node, attribute);
  if (math::is_epilogue(activation)) return activation;
  fail(ErrorCode::mismatch, "unknown activation ", quoted(node.attr_string(attribute, "")));
}

Val activated(ExpandContext& context, const Val& y, math::Activation activation, float alpha) {
  switch (activation) {
    case math::Activation::relu:
      return unary("Relu", y);
    case math::Activation::relu6:
      return context.builder().node("Clip", {y, scalar_like(y, 0), scalar_like(y, 6)});
    case math::Activation::hard_swish:
      return unary("HardSwish", y);
    case math::Activation::swish:
      return context.builder().node("Swish", {y}, {{"alpha", alpha}});
    case math::Activation::bounds:  // has no name
    case math::Activation::none:
      break;
  }
  return y;
}

std::vector<Val> expand_fused_activation(ExpandContext& context) {
  std::string_view op = context.node().op->name;
  op.remove_suffix(std::string_view("Activation").size());
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.x(i));
  Attributes attributes = context.node().attributes;
  std::erase_if(attributes, [](const Attribute& each) { return each.name == "activation"; });
  const Val y = context.builder().nodes(op, inputs, std::move(attributes), 1)[0];
  return {activated(context, y, fused_activation(context))};
}

}  // namespace ondine::kernels::ops
