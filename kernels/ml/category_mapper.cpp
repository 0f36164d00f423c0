// category_mapper.cpp — strings to the integers at the same position of two lists, or back.
#include "kernels/common/op.h"
#include "kernels/ml/key_value_table.h"
#include "kernels/ml/post_transform.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const bool text = context.dtype(0) == DType::string;
  context.set_output(0, text ? DType::int64 : DType::string, context.input(0).dims);
}

Kernel bind(BindContext& context) {
  const auto ints = context.attr_ints("cats_int64s");
  const auto strings = context.attr_strings("cats_strings");
  const Tensor numbers = Tensor::of({static_cast<std::int64_t>(ints.size())}, ints);
  const Tensor texts = Tensor::of({static_cast<std::int64_t>(strings.size())}, strings);
  if (context.dtype(0) == DType::string) {
    return bind_lookup(context,
                       {texts, numbers, Tensor::scalar(context.attr_int("default_int64", -1))});
  }
  return bind_lookup(
      context, {numbers, texts, Tensor::scalar(context.attr_string("default_string", "_Unused"))});
}

}  // namespace

extern const OpDef category_mapper{
    .name = "CategoryMapper", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
