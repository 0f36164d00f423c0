// pow.cpp — y = x^e;  dx = dy e x^(e - 1),  de = dy y ln x.  Where e is 0, dx is 0; where x is 0
// and e is not negative, de is 0.
// From version 12 the exponent may have a dtype of its own, and x may be an integer: an integer
// power is exact modulo 2^bits. Before version 7 broadcasting is limited.
#include <cmath>
#include <limits>

#include "kernels/common/saturate.h"
#include "kernels/common/wrapping_arithmetic.h"
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
T integer_power(T x, std::int64_t e) {
  if (e < 0) {
    if (x == 0) fail(ErrorCode::mismatch, "integer 0 to a negative power");
    if (x == 1) return 1;
    if (x == -1) return (e & 1) == 0 ? T(1) : T(-1);
    return 0;
  }
  T result = 1;
  for (; e != 0; e >>= 1) {
    if ((e & 1) != 0) result = wrapping_mul(result, x);
    x = wrapping_mul(x, x);
  }
  return result;
}

// x of type T, exponents as E.
template <class T, class E>
void power_row(const Row& row) {
  const T* x = row.in<T>(0);
  const E* e = row.in<E>(1);
  T* y = row.out<T>();
  const std::int64_t x_step = row.repeated[0] ? 0 : 1;
  const std::int64_t e_step = row.repeated[1] ? 0 : 1;
  const auto each = [&](auto f) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < row.n; ++i) y[i] = f(x[i * x_step], e[i * e_step]);
  };
  if constexpr (std::integral<E>) {
    each([](T base, E exponent) { return integer_power(base, exponent); });
  } else if constexpr (std::integral<T>) {
    each([](T base, E exponent) {
      return saturate<T>(std::pow(static_cast<double>(base), exponent));
    });
  } else {
    const T all = row.repeated[1] ? static_cast<T>(*e) : std::numeric_limits<T>::quiet_NaN();
    if (all == 2) {
      each([](T base, E) { return base * base; });
    } else if (all == 3) {
      each([](T base, E) { return base * base * base; });
    } else if (all == T(0.5)) {
      // pow(-inf, 0.5) is inf and pow(-0, 0.5) is 0.
      each([](T base, E) { return std::sqrt(std::isinf(base) ? std::fabs(base) : base + 0); });
    } else {
      each([](T base, E exponent) { return std::pow(base, exponent); });
    }
  }
}

void infer(InferContext& context) {
  if (context.version() < 12) return infer_binary(context);
  context.set_output(0, context.dtype(0), binary_dims(context));
}

RowFunction pick(DType base, DType exponent) {
  const bool integral = !is_float(exponent);
  switch (base) {
    case DType::float64:
      return power_row<double, double>;
    case DType::int32:
      return integral ? power_row<std::int32_t, std::int64_t> : power_row<std::int32_t, double>;
    case DType::int64:
      return integral ? power_row<std::int64_t, std::int64_t> : power_row<std::int64_t, double>;
    default:
      if (compute_dtype(base) == DType::float32) return power_row<float, float>;
      fail(ErrorCode::unsupported, "no kernel for Pow of ", base);
  }
}

ConvertRow exponent_row(DType base, DType exponent) {
  if (compute_dtype(base) == DType::float32) {
    return exponent == DType::float32 ? nullptr : row_to_float(exponent);
  }
  if (base != DType::float64 && !is_float(exponent)) {
    return exponent == DType::int64 ? nullptr : row_to_int64(exponent);
  }
  return exponent == DType::float64 ? nullptr : row_to_double(exponent);
}

Kernel bind(BindContext& context) {
  const DType base = context.dtype(0);
  const DType exponent = context.dtype(1);
  const bool widened = compute_dtype(base) != base;
  Elementwise what;
  what.row = pick(base, exponent);
  what.out = *context.output_shape(0);
  what.operands = {
      {0, context.shape(0), widened ? row_to_float(base) : nullptr},
      {1, aligned_shape(context, what.out, context.shape(1)), exponent_row(base, exponent)}};
  if (widened) what.narrow = row_from_float(base);
  return elementwise(context, what);
}

// The exponent where it is one number that is known now.
std::optional<double> constant_exponent(const GradContext& g, Val e) {
  const Tensor& known = g.builder().graph()[e.id()].constant;
  if (!known.defined() || known.size() != 1) return std::nullopt;
  double value = 0;
  row_to_double(known.dtype())(&value, known.data(), 1);
  return value;
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const Val dy = g.dy(0);
  const Val e = cast(aligned(g), x.dtype());
  const Val zero = scalar_like(x, 0);
  Val dx;
  if (g.wants(0)) {
    const auto known = constant_exponent(g, g.x(1));
    if (known == 2) {
      dx = dy * (x * 2.0);
    } else if (known && *known != 0) {
      dx = dy * (pow(x, *known - 1) * *known);
    } else {
      dx = where(equal(e, zero), zero, dy * (e * pow(x, e - 1.0)));
    }
  }
  Val de;
  if (g.wants(1)) {
    const Val flat = logical_and(equal(x, zero), logical_not(less(e, zero)));
    de = cast(where(flat, zero, dy * g.y(0) * unary("Log", x)), g.x(1).dtype());
  }
  return reduce_to_inputs(g, dx, de);
}

}  // namespace

extern const OpDef pow_op{
    .name = "Pow", .infer = infer, .bind = bind, .grad = grad, .traits = {.inplace = 1}};

}  // namespace ondine::kernels::ops
