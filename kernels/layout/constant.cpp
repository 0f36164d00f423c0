// constant.cpp — Constant: the tensor of its one attribute. Loading a model turns the node into a
// constant of the graph; the kernel is for graphs where that has not happened.
// Version 11 adds sparse_value, 12 the scalar and list attributes.
#include <cstring>

#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
Tensor list_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

Tensor value_of(const NodeView& node) {
  Tensor value;
  int found = 0;
  const auto take = [&]<class T>(std::string_view name, auto make, const T*) {
    if (const T* given = node.attr<T>(name)) {
      value = make(*given);
      ++found;
    }
  };
  const auto scalar = [](const auto& x) { return Tensor::scalar(x); };
  const auto list = [](const auto& x) { return list_of(x); };
  take(
      "value", [](const Tensor& x) { return x; }, static_cast<graph::Boxed<Tensor>*>(nullptr));
  take(
      "sparse_value", [](const SparseTensorDef& x) { return densify(x); },
      static_cast<graph::Boxed<SparseTensorDef>*>(nullptr));
  take("value_float", scalar, static_cast<float*>(nullptr));
  take("value_int", scalar, static_cast<std::int64_t*>(nullptr));
  take("value_string", scalar, static_cast<std::string*>(nullptr));
  take("value_floats", list, static_cast<std::vector<float>*>(nullptr));
  take("value_ints", list, static_cast<std::vector<std::int64_t>*>(nullptr));
  take("value_strings", list, static_cast<std::vector<std::string>*>(nullptr));
  if (found != 1 || !value.defined()) {
    fail(ErrorCode::invalid_model, "Constant has ", found, " values, needed: one");
  }
  return value;
}

void infer(InferContext& context) {
  const Tensor value = value_of(context);
  context.set_output(0, Type::tensor(value.dtype(), value.shape()));
  if (value.dtype() != DType::int64 || value.shape().rank() > 1 ||
      value.size() > static_cast<std::int64_t>(Shape::max_rank)) {
    return;
  }
  Dims known;
  for (const std::int64_t element : value.values<std::int64_t>()) {
    if (element < 0) return;
    known.emplace_back(element);
  }
  context.set_known_dims(0, std::move(known));
}

Kernel bind(BindContext& context) {
  const Tensor value = value_of(context);
  return [value](KernelContext& call) {
    if (value.dtype() == DType::string) {
      const auto text = value.values<std::string>();
      std::copy(text.begin(), text.end(), call.out<std::string>(0));
    } else if (value.bytes() > 0) {
      std::memcpy(call.out<void>(0), value.data(), value.bytes());
    }
  };
}

}  // namespace

extern const OpDef constant{
    .name = "Constant", .infer = infer, .bind = bind, .traits = {.cheap = true}};

}  // namespace ondine::kernels::ops
