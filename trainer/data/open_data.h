// Data files as sequences of bytes.
#pragma once

#include <filesystem>
#include <functional>

#include <ondine/limits.h>
#include <ondine/tensor.h>

#include "core/stream.h"

namespace ondine {

// Calls `body` with the content of the file, uncompressed when it is gzip. Errors get the file as
// context.
void with_data(const std::filesystem::path& file, const Limits& limits,
               const std::function<void(Source&)>& body);

// Uncompresses `packed` (gzip or zlib with `window` 31, raw deflate with -15). Throws
// Error(corrupt) and, when it grows beyond `bytes`, Error(limit).
std::vector<std::byte> inflate(std::span<const std::byte> packed, int window, std::uint64_t bytes);

// A tensor of that type and shape whose elements follow in `source`, most significant byte first or
// not. Nothing is allocated unless the bytes are there.
Tensor read_tensor(Source& source, DType dtype, const Shape& shape, bool big_endian,
                   const Limits& limits);

Tensor read_idx(Source& source, const Limits& limits);
Tensor read_npy(Source& source, const Limits& limits);
// Member names without ".npy".
std::vector<std::pair<std::string, Tensor>> read_npz(std::span<const std::byte> file,
                                                     const Limits& limits);

}  // namespace ondine
