// Reducers: how Reduction combines elements. Those that several operators use.
#pragma once

#include <limits>

#include "kernels/common/element_conversion.h"
#include "kernels/elementwise/vector.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::kernels {

// Integers are summed modulo 2^64, floats in float and then double.
template <class T>
inline constexpr bool is_real = !std::is_integral_v<T>;
template <class T>
using sum_item = std::conditional_t<is_real<T>, compute_t<T>, std::uint64_t>;
template <class T>
using sum_total = std::conditional_t<is_real<T>, double, std::uint64_t>;

template <class T>
inline sum_item<T> to_item(T x) {
  if constexpr (is_real<T>) {
    return load(x);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  } else {
    return x;
  }
}

// A computed real number as a T: rounded, or truncated into the range of an integer type.
template <class T>
inline T from_real(double value) {
  if constexpr (is_real<T>) {
    return store<T>(static_cast<compute_t<T>>(value));
  } else {
    constexpr auto low = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto high = static_cast<double>(std::numeric_limits<T>::max());
    if (!(value > low)) return std::numeric_limits<T>::min();
    if (value >= high) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  }
}

template <class T>
inline T from_total(sum_total<T> total) {
  if constexpr (is_real<T>) {
    return from_real<T>(total);
  } else {
    return static_cast<T>(total);
  }
}

template <class T>
struct SumReducer {
  using Item = sum_item<T>;
  using Total = sum_total<T>;
  static constexpr Item identity = 0;
  static constexpr Total total_identity = 0;
  static Item map(T x, std::int64_t) { return to_item(x); }
  static Item combine(Item a, Item b) { return a + b; }
  static Total widen(Item x) { return x; }
  static Total merge(Total a, Total b) { return a + b; }
  static T finish(Total total, std::int64_t) { return from_total<T>(total); }
};

// Rows of float, double and bfloat16 by the vectorised numerics: for reducers that map nothing.
template <class T>
struct SumRows : SumReducer<T> {
  static T of_row(const T* x, std::int64_t n) requires std::is_floating_point_v<T> {
    return math::vector_kernels<T>().sum(x, n);
  }
  static void add_rows(T* items, const T* x, std::int64_t rows, std::int64_t n,
                       std::int64_t stride) requires std::is_floating_point_v<T> {
    math::vector_kernels<T>().add_rows(items, x, rows, n, stride);
  }
  static void add_rows(float* items, const T* x, std::int64_t rows, std::int64_t n,
                       std::int64_t stride) requires std::is_same_v<T, bfloat16> {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(x);
    math::simd_tables().convert->add_bfloat16_rows(items, bits, rows, n, stride);
  }
};

// The greatest (or least) element; NaN when there is one.
template <class T, bool Greatest>
struct ExtremeReducer {
  using Item = compute_t<T>;
  using Total = Item;
  static constexpr Item extreme() {
    using Limits = std::numeric_limits<Item>;
    if constexpr (Limits::has_infinity) return Greatest ? -Limits::infinity() : Limits::infinity();
    return Greatest ? Limits::lowest() : Limits::max();
  }
  static constexpr Item identity = extreme();
  static constexpr Total total_identity = extreme();
  static Item map(T x, std::int64_t) { return load(x); }
  static Item combine(Item a, Item b) {
    if constexpr (std::is_floating_point_v<Item>) {
      return (Greatest ? b > a : b < a) || b != b ? b : a;
    } else {
      return (Greatest ? b > a : b < a) ? b : a;
    }
  }
  static Total widen(Item x) { return x; }
  static Total merge(Total a, Total b) { return combine(a, b); }
  static T finish(Total total, std::int64_t) { return store<T>(total); }
};

}  // namespace ondine::kernels
