// Elements of .safetensors files as weights in float32.
#pragma once

#include <cstddef>
#include <span>

#include <ondine/dtype.h>

namespace ondine::hugging_face {

// Whether such elements are converted without loss.
bool is_readable(DType dtype) noexcept;
// Little-endian elements, any alignment.
void widen(DType dtype, std::span<const std::byte> stored, float* to) noexcept;
// Widens a matrix of `rows` rows and transposes it.
void widen_transposed(DType dtype, std::span<const std::byte> stored, std::size_t rows,
                      float* to) noexcept;

}  // namespace ondine::hugging_face
