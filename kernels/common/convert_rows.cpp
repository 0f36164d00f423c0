#include "kernels/common/convert_rows.h"

#include "core/float_formats.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/saturate.h"
#include "kernels/common/visit_dtype.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::kernels {

void convert_row(float* dst, const bfloat16* src, std::int64_t n) {
  math::simd_tables().convert->bfloat16_to_float(dst, reinterpret_cast<const std::uint16_t*>(src),
                                                 n);
}
void convert_row(float* dst, const float16* src, std::int64_t n) {
  math::simd_tables().convert->float16_to_float(dst, reinterpret_cast<const std::uint16_t*>(src),
                                                n);
}
void convert_row(bfloat16* dst, const float* src, std::int64_t n) {
  math::simd_tables().convert->float_to_bfloat16(reinterpret_cast<std::uint16_t*>(dst), src, n);
}
void convert_row(float16* dst, const float* src, std::int64_t n) {
  math::simd_tables().convert->float_to_float16(reinterpret_cast<std::uint16_t*>(dst), src, n);
}

namespace {

template <class To, class From>
To number(const From& x) {
  if constexpr (requires { to_float(x); }) {
    return static_cast<To>(to_float(x));
  } else if constexpr (requires { x.bits; }) {  // 2- and 4-bit integers
    const bool is_signed = std::is_same_v<From, int4> || std::is_same_v<From, int2>;
    return static_cast<To>(is_signed ? static_cast<std::int8_t>(x.bits) : int{x.bits});
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void row(void* dst, const void* src, std::int64_t n) {
  auto* const to = static_cast<To*>(dst);
  const auto* const from = static_cast<const From*>(src);
  if constexpr (requires { convert_row(to, from, n); }) {
    convert_row(to, from, n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = number<To>(from[i]);
  }
}

template <class To, class... From>
ConvertRow find(DType dtype, Types<From...>) {
  ConvertRow found = nullptr;
  ((dtype == dtype_of<From> ? void(found = &row<To, From>) : void()), ...);
  if (found == nullptr) fail(ErrorCode::unsupported, "no number can be read from dtype ", dtype);
  return found;
}

using AnyInteger =
    Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
          std::uint32_t, std::uint64_t, int4, uint4, int2, uint2, bool>;
using AnyNumber =
    Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
          std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, int4, uint4, int2, uint2,
          float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0, float4e2m1>;

template <class To>
void direct(void* dst, const void* src, std::int64_t n) {
  convert_row(static_cast<To*>(dst), static_cast<const float*>(src), n);
}

template <class To, class Narrow>
void narrow(void* dst, const void* src, std::int64_t n, Narrow one) {
  auto* const to = static_cast<To*>(dst);
  const auto* const from = static_cast<const float*>(src);
  for (std::int64_t i = 0; i < n; ++i) to[i] = one(from[i]);
}

}  // namespace

ConvertRow row_to_float(DType from) { return find<float>(from, AnyNumber{}); }
ConvertRow row_to_double(DType from) { return find<double>(from, AnyNumber{}); }
ConvertRow row_to_int64(DType from) { return find<std::int64_t>(from, AnyInteger{}); }

StoreNumber store_number(DType to) {
  return visit(to, Numbers{}, []<class T>() -> StoreNumber {
    return [](void* dst, std::int64_t at, double x) {
      static_cast<T*>(dst)[at] = store<T>(saturate<compute_t<T>>(x));
    };
  });
}

ConvertRow row_from_float(DType to) {
#define ONDINE_NARROW(type)                                                          \
  case dtype_of<type>:                                                               \
    return [](void* dst, const void* src, std::int64_t n) {                          \
      narrow<type>(dst, src, n, [](float x) -> type { return to_##type(x, true); }); \
    };
  switch (to) {
    case DType::float16:
      return &direct<float16>;
    case DType::bfloat16:
      return &direct<bfloat16>;
      ONDINE_NARROW(float8e4m3fn)
      ONDINE_NARROW(float8e4m3fnuz)
      ONDINE_NARROW(float8e5m2)
      ONDINE_NARROW(float8e5m2fnuz)
    default:
      fail(ErrorCode::unsupported, "no number can be written to dtype ", to);
  }
#undef ONDINE_NARROW
}

}  // namespace ondine::kernels
