// sequence_construct.cpp — SequenceEmpty: no elements; SequenceConstruct: its inputs, dx_i =
// element i of dy; SequenceLength: the number of elements.
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

void infer_empty(InferContext& context) {
  const std::int64_t dtype = context.attr_int("dtype", static_cast<std::int64_t>(DType::float32));
  if (dtype <= 0 || dtype >= dtype_count) {
    fail(ErrorCode::invalid_model, "attribute 'dtype' is ", dtype);
  }
  context.set_output(0, Type::sequence(Type::tensor(static_cast<DType>(dtype))));
}

Kernel bind_empty(BindContext&) {
  return [](KernelContext& call) { call.set_value(0, Value::sequence({})); };
}

void infer_construct(InferContext& context) {
  Type element = context.input(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const auto joined = join(element, context.input(i));
    if (!joined) {
      context.reject("inputs 0 and ", i, " differ: ", to_string(element), " and ",
                     to_string(context.input(i)));
    }
    element = *joined;
  }
  context.set_output(0, Type::sequence(std::move(element)));
}

Kernel bind_construct(BindContext& context) {
  return [n = context.input_count()](KernelContext& call) {
    std::vector<Value> elements;
    for (std::size_t i = 0; i < n; ++i) elements.push_back(call.owned_value(i));
    call.set_value(0, Value::sequence(std::move(elements)));
  };
}

std::vector<Val> grad_construct(GradContext& g) {
  std::vector<Val> dx(g.input_count());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!g.wants(i)) continue;
    const Val at = g.builder().int64(static_cast<std::int64_t>(i));
    dx[i] = g.builder().node("SequenceAt", {g.dy(0), at});
  }
  return dx;
}

void infer_length(InferContext& context) {
  context.input(0);
  context.set_output(0, DType::int64, Dims{});
}

Kernel bind_length(BindContext&) {
  return [](KernelContext& call) {
    const std::size_t n = sequence_elements(call, 0).size();
    *call.out<std::int64_t>(0) = static_cast<std::int64_t>(n);
  };
}

}  // namespace

extern const OpDef sequence_empty{
    .name = "SequenceEmpty", .infer = infer_empty, .bind = bind_empty};
extern const OpDef sequence_construct{.name = "SequenceConstruct",
                                      .infer = infer_construct,
                                      .bind = bind_construct,
                                      .grad = grad_construct};
extern const OpDef sequence_length{
    .name = "SequenceLength", .infer = infer_length, .bind = bind_length, .no_gradient = 1};

}  // namespace ondine::kernels::ops
