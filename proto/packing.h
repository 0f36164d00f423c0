// Elements as files hold them: 4-bit types two to a byte, 2-bit types four, the first in the lowest
// bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ondine/dtype.h>

namespace ondine {

// Bytes of `count` elements in a file. Throws Error(limit) on overflow. Not for strings.
std::uint64_t packed_size(DType dtype, std::int64_t count);

// True for the types under a byte.
bool is_packed(DType dtype) noexcept;

// One byte an element, as in memory, from and to packed bytes; `elements` says how many.
void unpack(DType dtype, std::span<const std::byte> packed, std::span<std::byte> elements);
void pack(DType dtype, std::span<const std::byte> elements, std::span<std::byte> packed);

}  // namespace ondine
