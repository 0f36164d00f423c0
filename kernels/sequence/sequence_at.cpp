// sequence_at.cpp — the element at a position;  d sequence = zeros like its elements with dy at the
// position (ai.ondine SequenceAtGrad(dy, sequence, position)).
#include "kernels/common/nested_gradient.h"
#include "kernels/common/strided_copy.h"
#include "kernels/sequence/map_elements.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Type element = element_type(context.input(0));
  if (element.kind == TypeKind::unknown) {
    context.reject("the sequence has no elements");
  }
  context.set_output(0, element);
}

Kernel bind(BindContext& context) {
  const bool planned = context.output_shape(0).has_value();
  return [planned, position = PositionInput(context, 1)](KernelContext& call) {
    const std::vector<Value> elements = sequence_elements(call, 0);
    const Value& chosen = elements[position.read(call, elements.size(), elements.size(), 0)];
    if (!planned) return call.set_value(0, chosen);
    const Tensor& tensor = chosen.tensor();
    copy_elements(call.pool(), tensor.dtype(), tensor.size(), tensor.data(), call.out<void>(0));
  };
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("SequenceAtGrad", {g.dy(0), g.x(0), g.x(1)}, {}, ondine_domain)};
}

void infer_grad(InferContext& context) { context.set_output(0, context.input(1)); }

Kernel bind_grad(BindContext& context) {
  return [position = PositionInput(context, 2)](KernelContext& call) {
    std::vector<Value> elements = sequence_elements(call, 1);
    const std::size_t at = position.read(call, elements.size(), elements.size(), 0);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = i == at ? call.owned_value(0) : zero_value(elements[i], call.budget());
    }
    call.set_value(0, Value::sequence(std::move(elements)));
  };
}

std::vector<Val> expand_grad(ExpandContext& context) {
  Builder& b = context.builder();
  const Val sequence = context.x(1);
  const Val zeros = map_elements(
      {&sequence, 1}, [](std::span<const Val> elements) { return zeros_like(elements[0]); });
  const Val at = from_start(context.x(2), sequence);
  // Before it is removed, as some runtimes put what is inserted at the end at the front.
  const Val inserted = b.node("SequenceInsert", {zeros, context.x(0), at});
  return {b.node("SequenceErase", {inserted, at + 1})};
}

std::vector<Val> grad_grad(GradContext& g) {
  return {g.builder().node("SequenceAt", {g.dy(0), g.x(2)})};
}

}  // namespace

extern const OpDef sequence_at{
    .name = "SequenceAt", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};
extern const OpDef sequence_at_grad{.name = "SequenceAtGrad",
                                    .domain = ondine_domain,
                                    .infer = infer_grad,
                                    .bind = bind_grad,
                                    .grad = grad_grad,
                                    .expand = expand_grad,
                                    .no_gradient = 0b110};

}  // namespace ondine::kernels::ops
