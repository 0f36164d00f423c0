// sequence_edit.cpp
//   SequenceInsert  inserts a tensor before a position (default: at the end)
//   SequenceErase   removes the element at a position (default: the last one)
// Each is the derivative of the other; an erased element gets zeros.
#include "kernels/sequence/map_elements.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

void infer_insert(InferContext& context) {
  const Type element = element_type(context.input(0));
  const Type& tensor = context.input(1);
  if (element.kind == TypeKind::unknown) return context.set_output(0, Type::sequence(tensor));
  const auto joined = join(element, tensor);
  if (!joined) {
    context.reject("a sequence of ", to_string(element), " cannot take ", to_string(tensor));
  }
  context.set_output(0, Type::sequence(*joined));
}

Kernel bind_insert(BindContext& context) {
  return [position = PositionInput(context, 2)](KernelContext& call) {
    std::vector<Value> elements = sequence_elements(call, 0);
    const std::size_t n = elements.size();
    const std::size_t at = position.read(call, n, n + 1, n);
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), call.owned_value(1));
    call.set_value(0, Value::sequence(std::move(elements)));
  };
}

Kernel bind_erase(BindContext& context) {
  return [position = PositionInput(context, 1)](KernelContext& call) {
    std::vector<Value> elements = sequence_elements(call, 0);
    const std::size_t n = elements.size();
    const std::size_t at = position.read(call, n, n, n == 0 ? 0 : n - 1);
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
    call.set_value(0, Value::sequence(std::move(elements)));
  };
}

std::vector<Val> grad_insert(GradContext& g) {
  Builder& b = g.builder();
  const Val at = from_start(g.x(2), g.x(0));
  std::vector<Val> dx(2);
  if (g.wants(0)) dx[0] = b.node("SequenceErase", {g.dy(0), at});
  if (g.wants(1)) dx[1] = b.node("SequenceAt", {g.dy(0), at ? at : b.int64(-1)});
  return dx;
}

std::vector<Val> grad_erase(GradContext& g) {
  Builder& b = g.builder();
  const Val position = g.x(1) ? g.x(1) : b.int64(-1);
  const Val erased = b.node("SequenceAt", {g.x(0), position});
  return {b.node("SequenceInsert", {g.dy(0), zeros_like(erased), from_start(g.x(1), g.x(0))})};
}

}  // namespace

extern const OpDef sequence_insert{.name = "SequenceInsert",
                                   .infer = infer_insert,
                                   .bind = bind_insert,
                                   .grad = grad_insert,
                                   .no_gradient = 0b100};
extern const OpDef sequence_erase{.name = "SequenceErase",
                                  .infer = infer_same_as_input,
                                  .bind = bind_erase,
                                  .grad = grad_erase,
                                  .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
