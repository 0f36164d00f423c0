// From a dtype to a type: visit(dtype, Floats{}, []<class T>() { ... }).
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/message.h"

namespace ondine::kernels {

template <class... T>
struct Types {};

using FullFloats = Types<float, double>;
using Floats = Types<float, double, float16, bfloat16>;
using Integers = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                       std::uint16_t, std::uint32_t, std::uint64_t>;
using Numbers = Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t,
                      std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
// Calls body.template operator()<T>() for the T of `types` whose dtype is `dtype`.
// Error(unsupported) when there is none.
template <class Body, class... T>
decltype(auto) visit(DType dtype, Types<T...>, Body&& body) {
  using First = std::tuple_element_t<0, std::tuple<T...>>;
  using Result = decltype(body.template operator()<First>());
  if constexpr (std::is_void_v<Result>) {
    if (!((dtype == dtype_of<T> && (body.template operator()<T>(), true)) || ...)) {
      fail(ErrorCode::unsupported, "no kernel for dtype ", dtype);
    }
  } else {
    Result result{};
    if (!((dtype == dtype_of<T> && (result = body.template operator()<T>(), true)) || ...)) {
      fail(ErrorCode::unsupported, "no kernel for dtype ", dtype);
    }
    return result;
  }
}

// The type that arithmetic on T is done in: float for the 16-bit formats, T otherwise.
template <class T>
struct Compute {
  using type = T;
};
template <>
struct Compute<float16> {
  using type = float;
};
template <>
struct Compute<bfloat16> {
  using type = float;
};
template <class T>
using compute_t = typename Compute<T>::type;

}  // namespace ondine::kernels
