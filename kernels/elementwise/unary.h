// Unary element-wise operators from a function of one element.
#pragma once

#include <type_traits>

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/vector.h"

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

// Member(vector_kernels<T>()) is the row, for float and double; F serves other types.
template <class T, auto Member>
void vector_row(const Row& row) {
  Member(math::vector_kernels<T>())(row.out<T>(), row.in<T>(0), row.n);
}

template <auto Member, auto F>
struct VectorRows {
  template <class T>
  static RowFunction make() {
    if constexpr (std::is_floating_point_v<T>) {
      return &vector_row<T, Member>;
    } else {
      return &unary_row<T, F>;
    }
  }
};

inline constexpr std::int64_t row_chunk = 256;

// Calls body(y, x, t, n) for chunks of a row, with scratch t for n elements.
template <class T, class Body>
void for_row_chunks(const Row& row, Body&& body) {
  alignas(64) T scratch[row_chunk];
  for (std::int64_t done = 0; done < row.n; done += row_chunk) {
    const std::int64_t n = std::min(row_chunk, row.n - done);
    body(row.out<T>() + done, row.in<T>(0) + done, scratch, n);
  }
}

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

// bind_unary_op for float and double by a row function of kernels/simd.
template <auto Member>
Kernel bind_vector_op(BindContext& context) {
  const DType dtype = compute_dtype(context.dtype(0));
  return elementwise(context, pick_row<VectorRows<Member, nullptr>>(dtype, FullFloats{}));
}

// Member(vector_kernels<T>()) is the row of dx from dy and x or y.
template <auto Member>
struct GradientRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      Member(math::vector_kernels<T>())(row.out<T>(), row.in<T>(0), row.in<T>(1), row.n);
    };
  }
};

template <auto Member>
Kernel bind_vector_grad(BindContext& context) {
  const DType dtype = compute_dtype(context.dtype(0));
  return elementwise(context, pick_row<GradientRows<Member>>(dtype, FullFloats{}));
}

// Storage of operators whose kernels convert bfloat16 by blocks.
inline constexpr graph::RoundedStorage rounded_unary{.reads = 0b1, .writes = true, .follows = true};

// One differentiable unary operator without attributes.
constexpr OpDef unary_op(std::string_view name, Kernel (*bind)(BindContext&),
                         std::vector<Val> (*grad)(GradContext&), bool cheap = false,
                         graph::RoundedStorage rounded = {}) {
  return {.name = name,
          .infer = infer_same_as_input,
          .bind = bind,
          .grad = grad,
          .traits = {.inplace = 1, .per_sample = 1, .cheap = cheap},
          .rounded = rounded};
}

// The derivative of a unary operator in one pass: dx from (dy, x).
constexpr OpDef unary_grad_op(std::string_view name, Kernel (*bind)(BindContext&),
                              std::vector<Val> (*expand)(ExpandContext&),
                              void (*infer)(InferContext&) = infer_equal_inputs) {
  return {.name = name,
          .domain = ondine_domain,
          .infer = infer,
          .bind = bind,
          .grad = grad_of_expansion,
          .expand = expand,
          .traits = {.inplace = 3, .cannot_fail = true},
          .rounded = {.reads = 0b11, .writes = true, .follows = true}};
}

// One whose derivative is zero everywhere or does not exist.
constexpr OpDef step_op(std::string_view name, Kernel (*bind)(BindContext&)) {
  return {.name = name,
          .infer = infer_same_as_input,
          .bind = bind,
          .traits = {.inplace = 1, .cheap = true},
          .no_gradient = 1};
}

}  // namespace ondine::kernels::ops
