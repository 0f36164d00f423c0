// fused_activation.cpp — ai.ondine: ConvActivation and GemmActivation are Conv and Gemm with their
// inputs and attributes, followed by what the attribute `activation` names, Relu or Relu6, before a
// result is stored.
#include "kernels/ops/fused_activation.h"

#include <algorithm>

#include "kernels/ops/conv.h"
#include "kernels/ops/expansion.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/op.h"

namespace ondine::kernels::ops {

math::Activation fused_activation(const NodeView& node) {
  const std::string name = node.attr_string("activation", "");
  if (name == "Relu") return math::Activation::relu;
  if (name == "Relu6") return math::Activation::relu6;
  if (!name.empty()) fail(ErrorCode::mismatch, "there is no activation ", quoted(name));
  return math::Activation::none;
}

namespace {

std::vector<Val> expand(ExpandContext& context) {
  std::string_view op = context.node().op->name;
  op.remove_suffix(std::string_view("Activation").size());
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.x(i));
  Attributes attributes = context.node().attributes;
  std::erase_if(attributes, [](const Attribute& each) { return each.name == "activation"; });
  const Val y = context.builder().nodes(op, inputs, std::move(attributes), 1)[0];
  switch (fused_activation(context)) {
    case math::Activation::relu:
      return {unary("Relu", y)};
    case math::Activation::relu6:
      return {context.builder().node("Clip", {y, scalar_like(y, 0), scalar_like(y, 6)})};
    case math::Activation::none:
      break;
  }
  return {y};
}

}  // namespace

extern const OpDef conv_activation{.name = "ConvActivation",
                                   .domain = ondine_domain,
                                   .infer = infer_conv,
                                   .bind = bind_conv,
                                   .grad = grad_of_expansion,
                                   .expand = expand};
extern const OpDef gemm_activation{.name = "GemmActivation",
                                   .domain = ondine_domain,
                                   .infer = infer_gemm,
                                   .bind = bind_gemm,
                                   .grad = grad_of_expansion,
                                   .expand = expand};

}  // namespace ondine::kernels::ops
