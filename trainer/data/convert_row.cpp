#include "trainer/data/convert_row.h"

#include <algorithm>

#include "core/float_formats.h"

namespace ondine::data {
namespace {

template <class From, class To>
To convert(From value) {
  constexpr bool pixel = std::is_same_v<From, std::uint8_t>;
  if constexpr (std::is_same_v<To, float16>) {
    return to_float16(static_cast<float>(value) / (pixel ? 255.0F : 1.0F));
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return to_bfloat16(static_cast<float>(value) / (pixel ? 255.0F : 1.0F));
  } else if constexpr (pixel && std::is_floating_point_v<To>) {
    return static_cast<To>(value) / To{255};
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void copy_row(const void* from, void* to, std::int64_t count) {
  const auto* source = static_cast<const From*>(from);
  std::transform(source, source + count, static_cast<To*>(to), convert<From, To>);
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
    default:
      return nullptr;
  }
}

}  // namespace

RowCopy find_copy(DType from, DType to) {
  if (is_float(from) && !is_float(to)) return nullptr;
  switch (from) {
    case DType::uint8:
      return copy_to<std::uint8_t>(to);
    case DType::int8:
      return copy_to<std::int8_t>(to);
    case DType::int16:
      return copy_to<std::int16_t>(to);
    case DType::uint16:
      return copy_to<std::uint16_t>(to);
    case DType::int32:
      return copy_to<std::int32_t>(to);
    case DType::int64:
      return copy_to<std::int64_t>(to);
    case DType::float32:
      return copy_to<float>(to);
    case DType::float64:
      return copy_to<double>(to);
    case DType::boolean:
      return copy_to<bool>(to);
    default:
      return nullptr;
  }
}

}  // namespace ondine::data
