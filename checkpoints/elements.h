// The stored form of a tensor's elements: little-endian, one byte per element of types below 8
// bits; strings as a 64-bit length and the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <ondine/tensor.h>

#include "core/stream.h"

namespace ondine {

std::uint64_t stored_bytes(const Tensor& tensor);

// Calls `take` with consecutive chunks of the stored form. `swap`: whether to reverse byte order.
void for_stored_pieces(const Tensor& tensor,
                       const std::function<void(std::span<const std::byte>)>& take, bool swap);
void for_stored_pieces(const Tensor& tensor,
                       const std::function<void(std::span<const std::byte>)>& take);
void write_elements(Sink& sink, const Tensor& tensor);
std::uint32_t stored_crc(const Tensor& tensor);

// Reads `bytes` stored bytes. Throws Error(corrupt) when they differ from the checksum (if given),
// are not exactly the elements of `shape`, or hold bits that are not a value of `dtype`. Allocates
// memory in proportion to `bytes`; the caller must have checked that the source has that many left.
Tensor read_elements(Source& source, DType dtype, const Shape& shape, std::uint64_t bytes,
                     std::optional<std::uint32_t> crc, bool swap);
Tensor read_elements(Source& source, DType dtype, const Shape& shape, std::uint64_t bytes,
                     std::optional<std::uint32_t> crc = {});

}  // namespace ondine
