// optional.cpp
//   Optional            its input, or empty, with the element type in its attribute
//   OptionalGetElement  the element (from version 18 a plain value gives itself)
//   OptionalHasElement  whether there is one (from 18 also of a plain value or no input)
// Derivatives pass through.
#include "graph/ir/declared_type.h"
#include "kernels/common/strided_copy.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

void infer_optional(InferContext& context) {
  if (context.has_input(0)) return context.set_output(0, Type::optional(context.input(0)));
  const auto* def = context.attr<Boxed<TypeDef>>("type");
  if (def == nullptr) {
    fail(ErrorCode::invalid_model, "an optional with neither an input nor a type");
  }
  context.set_output(0, Type::optional(to_type(*def, nullptr)));
}

Kernel bind_optional(BindContext& context) {
  const bool given = context.has_input(0);
  return [given](KernelContext& call) {
    call.set_value(0, given ? Value::optional(call.owned_value(0)) : Value::optional());
  };
}

std::vector<Val> grad_optional(GradContext& g) { return {unary("OptionalGetElement", g.dy(0))}; }

void infer_get(InferContext& context) {
  const Type& input = context.input(0);
  if (input.kind != TypeKind::optional) return context.set_output(0, input);
  const Type element = element_type(input);
  if (element.kind == TypeKind::unknown) context.reject("the optional is empty");
  context.set_output(0, element);
}

Kernel bind_get(BindContext& context) {
  const bool planned = context.output_shape(0).has_value();
  const bool wrapped = context.input_type(0).kind == TypeKind::optional;
  return [planned, wrapped](KernelContext& call) {
    Value value = call.value(0);
    if (wrapped) {
      if (!value.has_element()) fail(ErrorCode::mismatch, "the optional is empty");
      value = Value(value.elements()[0]);
    }
    if (!planned) return call.set_value(0, value);
    const Tensor& tensor = value.tensor();
    copy_elements(call.pool(), tensor.dtype(), tensor.size(), tensor.data(), call.out<void>(0));
  };
}

std::vector<Val> grad_get(GradContext& g) {
  const bool wrapped = g.x(0).type().kind == TypeKind::optional;
  return {wrapped ? unary("Optional", g.dy(0)) : g.dy(0)};
}

void infer_has(InferContext& context) { context.set_output(0, DType::boolean, Dims{}); }

Kernel bind_has(BindContext& context) {
  const bool given = context.has_input(0);
  const bool wrapped = given && context.input_type(0).kind == TypeKind::optional;
  return [given, wrapped](KernelContext& call) {
    *call.out<bool>(0) = wrapped ? call.value(0).has_element() : given;
  };
}

}  // namespace

extern const OpDef optional_op{
    .name = "Optional", .infer = infer_optional, .bind = bind_optional, .grad = grad_optional};
extern const OpDef optional_get_element{
    .name = "OptionalGetElement", .infer = infer_get, .bind = bind_get, .grad = grad_get};
extern const OpDef optional_has_element{
    .name = "OptionalHasElement", .infer = infer_has, .bind = bind_has, .no_gradient = 1};

}  // namespace ondine::kernels::ops
