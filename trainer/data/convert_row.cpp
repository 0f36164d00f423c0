#include "trainer/data/convert_row.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/float_formats.h"

namespace ondine::data {
namespace {

template <class T>
auto wide(T value) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return to_float(value);
  } else {
    return value;
  }
}

// Whether the value is one of To's, which is an integer or bool.
template <class To, class From>
bool is_among(From value) {
  if constexpr (std::is_same_v<From, bool>) {
    return true;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value == From{0} || value == From{1};
  } else if constexpr (std::is_integral_v<From>) {
    return std::in_range<To>(value);
  } else {
    // Both bounds are powers of two or 0, so that they are exact.
    constexpr auto low = static_cast<double>(std::numeric_limits<To>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const auto number = static_cast<double>(value);
    return number >= low && number < high && number == std::trunc(number);
  }
}

// Whether a finite value may become infinite.
template <class From, class To>
constexpr bool may_overflow() {
  if (std::is_integral_v<From>) return std::is_same_v<To, float16> && sizeof(From) > 1;
  if (std::is_same_v<From, double>) return !std::is_same_v<To, double>;
  if (std::is_same_v<From, float>) return sizeof(To) == 2;
  return std::is_same_v<From, bfloat16> && std::is_same_v<To, float16>;
}

template <class To, class From>
To rounded(From value) {
  if constexpr (std::is_same_v<To, float16>) {
    return to_float16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Writes the element; false where the type cannot hold it.
template <class From, class To>
bool copy_element(From from, To& to) {
  const auto value = wide(from);
  if constexpr (std::is_integral_v<To>) {
    const bool fits = is_among<To>(value);
    to = fits ? static_cast<To>(value) : To{0};
    return fits;
  } else {
    to = rounded<To>(value);
    if constexpr (!may_overflow<From, To>()) return true;
    return std::isfinite(wide(to)) || !std::isfinite(static_cast<double>(value));
  }
}

template <class From, class To>
std::int64_t copy_row(const void* from, void* to, std::int64_t count) {
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  bool all = true;  // a loop that does not stop early is turned into vectors
  for (std::int64_t i = 0; i < count; ++i) all &= copy_element(source[i], target[i]);
  if (all) return count;
  std::int64_t first = 0;
  while (copy_element(source[first], target[first])) ++first;
  return first;
}

template <class To>
std::int64_t copy_pixels(const void* from, void* to, std::int64_t count) {
  const auto* source = static_cast<const std::uint8_t*>(from);
  auto* target = static_cast<To*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    using Number = std::conditional_t<std::is_same_v<To, double>, double, float>;
    target[i] = rounded<To>(static_cast<Number>(source[i]) / Number{255});
  }
  return count;
}

template <class From>
RowCopy copy_to(DType to) {
  switch (to) {
    case DType::float32:
      return copy_row<From, float>;
    case DType::float64:
      return copy_row<From, double>;
    case DType::float16:
      return copy_row<From, float16>;
    case DType::bfloat16:
      return copy_row<From, bfloat16>;
    case DType::int32:
      return copy_row<From, std::int32_t>;
    case DType::int64:
      return copy_row<From, std::int64_t>;
    case DType::int8:
      return copy_row<From, std::int8_t>;
    case DType::int16:
      return copy_row<From, std::int16_t>;
    case DType::uint8:
      return copy_row<From, std::uint8_t>;
    case DType::uint16:
      return copy_row<From, std::uint16_t>;
    case DType::uint32:
      return copy_row<From, std::uint32_t>;
    case DType::uint64:
      return copy_row<From, std::uint64_t>;
    case DType::boolean:
      return copy_row<From, bool>;
    default:
      return nullptr;
  }
}

RowCopy copy_between(DType from, DType to) {
  switch (from) {
    case DType::float32:
      return copy_to<float>(to);
    case DType::float64:
      return copy_to<double>(to);
    case DType::float16:
      return copy_to<float16>(to);
    case DType::bfloat16:
      return copy_to<bfloat16>(to);
    case DType::int8:
      return copy_to<std::int8_t>(to);
    case DType::int16:
      return copy_to<std::int16_t>(to);
    case DType::int32:
      return copy_to<std::int32_t>(to);
    case DType::int64:
      return copy_to<std::int64_t>(to);
    case DType::uint8:
      return copy_to<std::uint8_t>(to);
    case DType::uint16:
      return copy_to<std::uint16_t>(to);
    case DType::uint32:
      return copy_to<std::uint32_t>(to);
    case DType::uint64:
      return copy_to<std::uint64_t>(to);
    case DType::boolean:
      return copy_to<bool>(to);
    default:
      return nullptr;
  }
}

}  // namespace

RowCopy find_copy(DType from, DType to) {
  const bool is_whole = to == DType::int32 || to == DType::int64;
  if (!is_float(to) && (is_float(from) || !is_whole)) return nullptr;
  return copy_between(from, to);
}

RowCopy find_pixel_copy(DType to) {
  switch (to) {
    case DType::float32:
      return copy_pixels<float>;
    case DType::float64:
      return copy_pixels<double>;
    case DType::float16:
      return copy_pixels<float16>;
    case DType::bfloat16:
      return copy_pixels<bfloat16>;
    default:
      return nullptr;
  }
}

RowCopy find_exact_copy(DType from, DType to) {
  return is_float(to) ? nullptr : copy_between(from, to);
}

}  // namespace ondine::data
