// The elements of a tensor as a file holds them: little-endian, one byte for each element of a type
// under a byte; strings as a 64-bit length and the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <ondine/tensor.h>

#include "core/stream.h"

namespace ondine {

std::uint64_t stored_bytes(const Tensor& tensor);

// Calls `take` with consecutive pieces of the stored form. `swap`: whether numbers of this machine
// have the other byte order.
void for_stored_pieces(const Tensor& tensor,
                       const std::function<void(std::span<const std::byte>)>& take, bool swap);
void for_stored_pieces(const Tensor& tensor,
                       const std::function<void(std::span<const std::byte>)>& take);
void write_elements(Sink& sink, const Tensor& tensor);
std::uint32_t stored_crc(const Tensor& tensor);

// Reads `bytes` stored bytes. Throws Error(corrupt) when they do not have the checksum (where one
// is known), are not exactly the elements of `shape`, or hold what is no value of `dtype`. The
// caller has checked that the source has `bytes` left: memory is taken in proportion to it.
Tensor read_elements(Source& source, DType dtype, const Shape& shape, std::uint64_t bytes,
                     std::optional<std::uint32_t> crc, bool swap);
Tensor read_elements(Source& source, DType dtype, const Shape& shape, std::uint64_t bytes,
                     std::optional<std::uint32_t> crc = {});

}  // namespace ondine
