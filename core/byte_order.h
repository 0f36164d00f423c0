// Elements of tensors in files. Except where a format says otherwise they are little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include <ondine/dtype.h>

namespace ondine {

// Whether numbers in memory are to be turned when they come from or go to a little-endian file.
inline constexpr bool other_byte_order = std::endian::native == std::endian::big;

// Bytes of one number; an element of a complex type is two numbers.
std::size_t number_width(DType dtype) noexcept;

// Turns the bytes of every number. `bytes` are whole elements of `dtype`.
void swap_numbers(std::span<std::byte> bytes, DType dtype) noexcept;

}  // namespace ondine
