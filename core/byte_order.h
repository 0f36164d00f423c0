// Elements of tensors in files. Except where a format says otherwise they are little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include <ondine/dtype.h>

namespace ondine {

// Whether this machine is big-endian, so that numbers of a little-endian file need swapping.
inline constexpr bool other_byte_order = std::endian::native == std::endian::big;

// Bytes of one number; an element of a complex type is two numbers.
std::size_t number_width(DType dtype) noexcept;

// Reverses the bytes of every number in place. `bytes` are whole elements of `dtype`.
void swap_numbers(std::span<std::byte> bytes, DType dtype) noexcept;

}  // namespace ondine
