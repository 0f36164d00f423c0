// Unary element-wise operators from a function of one element.
#pragma once

#include <type_traits>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/op.h"

namespace ondine::kernels::ops {

// y[i] = F(x[i], params). A result of type bool is stored as bool, any other as T.
template <class T, auto F>
void unary_row(const Row& row) {
  using Result = decltype(F(T{}, Params{}));
  using Out = std::conditional_t<std::is_same_v<Result, bool>, bool, T>;
  const T* x = row.in<T>(0);
  Out* y = row.out<Out>();
  const Params params = row.params;
#pragma GCC ivdep  // y may be x itself
  for (std::int64_t i = 0; i < row.n; ++i) y[i] = static_cast<Out>(F(x[i], params));
}

template <auto F>
struct UnaryRows {
  template <class T>
  static RowFunction make() {
    return &unary_row<T, F>;
  }
};

// Kernel of a unary operator; 16-bit floats are computed as float.
template <auto F, class... T>
Kernel bind_unary(const BindContext& context, Types<T...> types, Params params = {}) {
  return elementwise(context, pick_row<UnaryRows<F>>(compute_dtype(context.dtype(0)), types),
                     params);
}

// bind of an operator without attributes.
template <auto F, class Types = FullFloats>
Kernel bind_unary_op(BindContext& context) {
  return bind_unary<F>(context, Types{});
}

// One differentiable unary operator without attributes.
constexpr OpDef unary_op(std::string_view name, Kernel (*bind)(BindContext&),
                         std::vector<Val> (*grad)(GradContext&), bool cheap = false) {
  return {.name = name,
          .infer = infer_same_as_input,
          .bind = bind,
          .grad = grad,
          .facts = {.inplace = 1, .cheap = cheap}};
}

// One whose derivative is zero everywhere or does not exist.
constexpr OpDef step_op(std::string_view name, Kernel (*bind)(BindContext&)) {
  return {.name = name,
          .infer = infer_same_as_input,
          .bind = bind,
          .facts = {.inplace = 1, .cheap = true},
          .no_gradient = 1};
}

}  // namespace ondine::kernels::ops
