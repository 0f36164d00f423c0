#include "core/byte_order.h"

#include <algorithm>

namespace ondine {

std::size_t number_width(DType dtype) noexcept {
  return size_of(dtype) / (is_complex(dtype) ? 2U : 1U);
}

void swap_numbers(std::span<std::byte> bytes, DType dtype) noexcept {
  const std::size_t width = number_width(dtype);
  if (width == 1) return;
  for (; bytes.size() >= width; bytes = bytes.subspan(width)) {
    std::ranges::reverse(bytes.first(width));
  }
}

}  // namespace ondine
