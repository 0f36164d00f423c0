// one_hot_encoder.cpp — each element as a row with a 1 at the position of its category. Numbers of
// other dtypes are truncated to int64.
#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/ml/key_value_table.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

ClassLabels categories_of(const NodeView& node) { return {node, "cats_int64s", "cats_strings"}; }

void infer(InferContext& context) {
  const ClassLabels categories = categories_of(context);
  const bool text = context.dtype(0) == DType::string;
  if (text != (categories.dtype() == DType::string)) {
    context.reject("x has dtype ", context.dtype(0), ", the categories have ", categories.dtype());
  }
  std::optional<Dims> dims = context.input(0).dims;
  if (dims) dims->push_back(static_cast<std::int64_t>(categories.count()));
  context.set_output(0, DType::float32, std::move(dims));
}

// A number outside of the integers is not a category.
template <class T>
bool to_integer(T x, std::int64_t& out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!(x > T(-9.2e18) && x < T(9.2e18))) return false;
  }
  out = static_cast<std::int64_t>(x);
  return true;
}

Kernel bind(BindContext& context) {
  const ClassLabels categories = categories_of(context);
  const KeyIndex index(categories.tensor(), KeyIndex::Repeated::first);
  const auto count = static_cast<std::int64_t>(categories.count());
  const std::int64_t n = context.shape(0).size();
  const bool lenient = context.attr_int("zeros", 1) != 0;
  using Inputs = Types<std::int64_t, std::int32_t, float, double, std::string>;
  return visit(context.dtype(0), Inputs{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const T* x = call.in<T>(0);
      auto* y = call.out<float>(0);
      std::fill_n(y, n * count, 0.0F);
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t at = -1;
        if constexpr (std::is_same_v<T, std::string>) {
          index.find(x + i, 1, &at);
        } else {
          std::int64_t number = 0;
          if (to_integer(x[i], number)) index.find(&number, 1, &at);
        }
        if (at >= 0) {
          y[i * count + at] = 1;
        } else if (!lenient) {
          fail(ErrorCode::mismatch, "element ", i, " of x is none of the ", count, " categories");
        }
      }
    };
  });
}

}  // namespace

extern const OpDef one_hot_encoder{
    .name = "OneHotEncoder", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
