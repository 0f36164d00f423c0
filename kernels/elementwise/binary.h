// Binary element-wise operators from a function of two elements.
#pragma once

#include <type_traits>

#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/vector.h"

namespace ondine::kernels::ops {

// y[i] = F(a[i], b[i]), either operand repeated or not. A result of type bool is stored as bool.
template <class T, auto F>
void binary_row(const Row& row) {
  using Result = decltype(F(std::declval<const T&>(), std::declval<const T&>()));
  using Out = std::conditional_t<std::is_same_v<Result, bool>, bool, T>;
  const T* a = row.in<T>(0);
  const T* b = row.in<T>(1);
  Out* y = row.out<Out>();
  const std::int64_t n = row.n;
  if (row.repeated[0]) {
    const T& left = *a;
    const Out first = static_cast<Out>(F(left, *b));
    if (row.repeated[1]) return void(std::fill_n(y, n, first));
#pragma GCC ivdep  // y may be an operand that is not repeated
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Out>(F(left, b[i]));
  } else if (row.repeated[1]) {
    const T& right = *b;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Out>(F(a[i], right));
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Out>(F(a[i], b[i]));
  }
}

template <auto F>
struct BinaryRows {
  template <class T>
  static RowFunction make() {
    return &binary_row<T, F>;
  }
};

// Member(vector_kernels<T>()) for float and double; F serves other types.
template <class T, auto Member, auto F>
void vector_binary_row(const Row& row) {
  const auto& rows = Member(math::vector_kernels<T>());
  const T* a = row.in<T>(0);
  const T* b = row.in<T>(1);
  if (row.repeated[0] && row.repeated[1]) {
    std::fill_n(row.out<T>(), row.n, F(*a, *b));
  } else if (row.repeated[0]) {
    rows.sv(row.out<T>(), *a, b, row.n);
  } else if (row.repeated[1]) {
    rows.vs(row.out<T>(), a, *b, row.n);
  } else {
    rows.vv(row.out<T>(), a, b, row.n);
  }
}

template <auto Member, auto F>
struct VectorBinaryRows {
  template <class T>
  static RowFunction make() {
    if constexpr (std::is_floating_point_v<T>) {
      return &vector_binary_row<T, Member, F>;
    } else {
      return &binary_row<T, F>;
    }
  }
};

// The dims of input 1, with 1s appended so that it broadcasts as in version 7 and later. Before,
// the second operand broadcasts over consecutive axes of the first one, from attribute `axis` on,
// and only with `broadcast` = 1.
Dims aligned_dims(const NodeView& node, const Dims& a, const Dims& b);
// aligned_dims for shapes.
Shape aligned_shape(const NodeView& node, const Shape& a, const Shape& b);

// Output 0: broadcast dims of inputs 0 and 1, whose dtypes must be the same.
void infer_binary(InferContext& context);
// infer_binary with output dtype bool.
void infer_comparison(InferContext& context);
// The broadcast dims alone; dtypes are not checked.
std::optional<Dims> binary_dims(const InferContext& context);

Kernel bind_binary(const BindContext& context, RowFunction row);

template <auto F, class Types>
Kernel bind_binary_op(BindContext& context) {
  return bind_binary(context, pick_row<BinaryRows<F>>(compute_dtype(context.dtype(0)), Types{}));
}

template <auto Member, auto F>
Kernel bind_vector_binary_op(BindContext& context) {
  const DType dtype = compute_dtype(context.dtype(0));
  return bind_binary(context, pick_row<VectorBinaryRows<Member, F>>(dtype, Computed{}));
}

// Input 1 reshaped to aligned_dims.
Val aligned(const GradContext& g);
// Sums the derivatives of the broadcast operands to the shapes of the inputs; empty values stay
// empty.
std::vector<Val> reduce_to_inputs(const GradContext& g, Val da, Val db);

}  // namespace ondine::kernels::ops
