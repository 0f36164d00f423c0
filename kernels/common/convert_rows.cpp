#include "kernels/common/convert_rows.h"

#include "core/float_formats.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {
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
  for (std::int64_t i = 0; i < n; ++i) to[i] = number<To>(from[i]);
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

ConvertRow row_from_float(DType to) {
#define ONDINE_NARROW(type, expression)                                      \
  case dtype_of<type>:                                                       \
    return [](void* dst, const void* src, std::int64_t n) {                  \
      narrow<type>(dst, src, n, [](float x) -> type { return expression; }); \
    };
  switch (to) {
    ONDINE_NARROW(float16, to_float16(x))
    ONDINE_NARROW(bfloat16, to_bfloat16(x))
    ONDINE_NARROW(float8e4m3fn, to_float8e4m3fn(x, true))
    ONDINE_NARROW(float8e4m3fnuz, to_float8e4m3fnuz(x, true))
    ONDINE_NARROW(float8e5m2, to_float8e5m2(x, true))
    ONDINE_NARROW(float8e5m2fnuz, to_float8e5m2fnuz(x, true))
    default:
      fail(ErrorCode::unsupported, "no number can be written to dtype ", to);
  }
#undef ONDINE_NARROW
}

}  // namespace ondine::kernels
