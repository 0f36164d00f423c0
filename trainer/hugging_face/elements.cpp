#include "trainer/hugging_face/elements.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/float_formats.h"

namespace ondine::hugging_face {
namespace {

// Rows and columns that are transposed at a time.
constexpr std::size_t tile = 32;

std::uint32_t bits_at(const std::byte* at, std::size_t bytes) noexcept {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) bits |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
  return bits;
}

struct Float32 {
  static constexpr std::size_t bytes = 4;
  static float read(const std::byte* at) noexcept { return std::bit_cast<float>(bits_at(at, 4)); }
};
struct Float16 {
  static constexpr std::size_t bytes = 2;
  static float read(const std::byte* at) noexcept {
    return to_float(float16{static_cast<std::uint16_t>(bits_at(at, 2))});
  }
};
struct Bfloat16 {
  static constexpr std::size_t bytes = 2;
  static float read(const std::byte* at) noexcept {
    return to_float(bfloat16{static_cast<std::uint16_t>(bits_at(at, 2))});
  }
};

template <class Body>
void with_format(DType dtype, Body body) noexcept {
  switch (dtype) {
    case DType::float16:
      return body(Float16());
    case DType::bfloat16:
      return body(Bfloat16());
    default:
      return body(Float32());
  }
}

}  // namespace

bool is_readable(DType dtype) noexcept {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

void widen(DType dtype, std::span<const std::byte> stored, float* to) noexcept {
  with_format(dtype, [&](auto format) {
    const std::size_t count = stored.size() / format.bytes;
    for (std::size_t i = 0; i < count; ++i) to[i] = format.read(stored.data() + i * format.bytes);
  });
}

void widen_transposed(DType dtype, std::span<const std::byte> stored, std::size_t rows,
                      float* to) noexcept {
  with_format(dtype, [&](auto format) {
    if (rows == 0) return;
    const std::size_t columns = stored.size() / format.bytes / rows;
    for (std::size_t row0 = 0; row0 < rows; row0 += tile) {
      const std::size_t row_end = std::min(rows, row0 + tile);
      for (std::size_t column0 = 0; column0 < columns; column0 += tile) {
        const std::size_t column_end = std::min(columns, column0 + tile);
        for (std::size_t row = row0; row < row_end; ++row) {
          for (std::size_t column = column0; column < column_end; ++column) {
            to[column * rows + row] =
                format.read(stored.data() + (row * columns + column) * format.bytes);
          }
        }
      }
    }
  });
}

}  // namespace ondine::hugging_face
