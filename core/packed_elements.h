// Elements of 4 or 2 bits: packed, as files hold them (the first one in the lowest bits of a byte),
// and one a byte, as in memory. A tensor may hold them packed until something asks for its data;
// what works on packed elements reads them as they are: exports and operators on frozen weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <ondine/tensor.h>

namespace ondine {

// Size of `count` elements of a file in bytes. Throws Error(limit) on overflow. Not for strings.
std::uint64_t packed_size(DType dtype, std::int64_t count);

// Whether the dtype has less than 8 bits.
bool is_packed(DType dtype) noexcept;

// Converts between packed bytes and one byte per element; the size of `elements` is their number.
void unpack(DType dtype, std::span<const std::byte> packed, std::span<std::byte> elements);
void pack(DType dtype, std::span<const std::byte> elements, std::span<std::byte> packed);

struct PackedElements {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps the bytes
};

// A tensor of packed elements: packed_size(dtype, shape.size()) bytes. They are unpacked when one
// of its copies is first asked for its data, after which `unpacked` is called, which must not
// throw; at once where they are few, or where bits past the last element are set.
Tensor share_packed(DType dtype, const Shape& shape, PackedElements packed,
                    std::function<void()> unpacked = {});

// The elements of a tensor that still is packed; nullopt for any other. Thread-safe.
std::optional<PackedElements> packed_elements(const Tensor& tensor);

}  // namespace ondine
