// Packed elements of files: two 4-bit or four 2-bit elements per byte, the first one in the lowest
// bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ondine/dtype.h>

namespace ondine {

// Size of `count` packed elements in bytes. Throws Error(limit) on overflow. Not for strings.
std::uint64_t packed_size(DType dtype, std::int64_t count);

// Whether the dtype has less than 8 bits.
bool is_packed(DType dtype) noexcept;

// Converts between packed bytes and one byte per element, as in memory; the size of `elements` is
// their number.
void unpack(DType dtype, std::span<const std::byte> packed, std::span<std::byte> elements);
void pack(DType dtype, std::span<const std::byte> elements, std::span<std::byte> packed);

}  // namespace ondine
