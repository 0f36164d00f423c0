// label_encoder.cpp — y = the value whose key is x, or a default. Version 1: a list of strings and
// their positions, in either direction. Version 2: keys and values of int64, float or string;
// floats are looked up by their bits. Version 4: also tensors of int16, int32 and double; all NaNs
// are equal.
#include <numeric>

#include "kernels/common/op.h"
#include "kernels/ml/key_value_table.h"
#include "kernels/ml/post_transform.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
Tensor list(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

// The one attribute of keys_* (or values_*) that is given.
Tensor given(const NodeView& node, const std::string& kind) {
  Tensor found;
  int count = 0;
  const auto take = [&](Tensor tensor) {
    ++count;
    found = std::move(tensor);
  };
  if (node.has_attr(kind + "_int64s")) take(list(node.attr_ints(kind + "_int64s")));
  if (node.has_attr(kind + "_floats")) take(list(node.attr_floats(kind + "_floats")));
  if (node.has_attr(kind + "_strings")) take(list(node.attr_strings(kind + "_strings")));
  if (node.has_attr(kind + "_tensor")) take(node.attr_tensor(kind + "_tensor"));
  if (count != 1) {
    fail(ErrorCode::invalid_model, "exactly one attribute ", kind, "_* is needed, found ", count);
  }
  if (found.shape().rank() != 1) {
    fail(ErrorCode::invalid_model, "attribute '", kind, "_tensor' has shape ", found.shape(),
         ", not rank 1");
  }
  return found;
}

Tensor text_default(const NodeView& node) {
  return Tensor::scalar(node.attr_string("default_string", "_Unused"));
}
Tensor int_default(const NodeView& node) {
  return Tensor::scalar(node.attr_int("default_int64", -1));
}

Tensor default_of(const NodeView& node, DType dtype) {
  const Tensor tensor = node.attr_tensor("default_tensor");
  if (tensor.defined()) {
    if (tensor.dtype() != dtype || tensor.size() != 1) {
      fail(ErrorCode::invalid_model, "attribute 'default_tensor' is a ", tensor.dtype(),
           tensor.shape(), ", needed: one ", dtype);
    }
    return tensor;
  }
  switch (dtype) {
    case DType::string:
      return text_default(node);
    case DType::int64:
      return int_default(node);
    case DType::int32:
      return Tensor::scalar(std::int32_t{-1});
    case DType::int16:
      return Tensor::scalar(std::int16_t{-1});
    case DType::float64:
      return Tensor::scalar(-0.0);
    default:
      return Tensor::scalar(node.attr_float("default_float", -0.0F));
  }
}

LookupTable table_of(const NodeView& node, DType x) {
  if (node.version() >= 2) {
    const Tensor values = given(node, "values");
    using Floats = KeyIndex::Floats;
    return {given(node, "keys"), values, default_of(node, values.dtype()), KeyIndex::Repeated::last,
            node.version() < 4 ? Floats::by_bits : Floats::by_value};
  }
  const auto classes = node.attr_strings("classes_strings");
  std::vector<std::int64_t> positions(classes.size());
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  if (x == DType::string) return {list(classes), list(positions), int_default(node)};
  return {list(positions), list(classes), text_default(node)};
}

void infer(InferContext& context) {
  const LookupTable table = table_of(context, context.dtype(0));
  if (table.keys.dtype() != context.dtype(0)) {
    context.reject("x has dtype ", context.dtype(0), ", the keys have ", table.keys.dtype());
  }
  context.set_output(0, table.values.dtype(), context.input(0).dims);
}

Kernel bind(BindContext& context) {
  return bind_lookup(context, table_of(context, context.dtype(0)));
}

}  // namespace

extern const OpDef label_encoder{
    .name = "LabelEncoder", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
