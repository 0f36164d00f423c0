#include "checkpoints/elements.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/byte_order.h"
#include "core/checked.h"
#include "core/digest.h"

namespace ondine {
namespace {

constexpr std::size_t piece_size = std::size_t{64} << 10;
using Length = std::array<std::byte, 8>;

Length to_length(std::uint64_t n) {
  Length bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(n >> (8 * i));
  return bytes;
}

std::uint64_t from_length(const Length& bytes) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < 8; ++i) n |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return n;
}

// Whether the byte is a value of the dtype: bool and types below 8 bits do not use all of them.
bool is_pattern_of(DType dtype, std::byte value) {
  const auto bits = std::to_integer<unsigned>(value);
  switch (dtype) {
    case DType::boolean:
      return bits < 2;
    case DType::uint4:
    case DType::float4e2m1:
      return bits < 16;
    case DType::uint2:
      return bits < 4;
    case DType::int4:
      return bits < 8 || bits >= 0xf8;
    case DType::int2:
      return bits < 2 || bits >= 0xfe;
    default:
      return true;
  }
}

void check_patterns(DType dtype, std::span<const std::byte> bytes) {
  std::array<bool, 256> allowed{};
  for (unsigned b = 0; b < 256; ++b) allowed[b] = is_pattern_of(dtype, static_cast<std::byte>(b));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    if (!allowed[value]) {
      fail(ErrorCode::corrupt, "element ", i, " holds ", value, ", which is not a ", dtype);
    }
  }
}

void check_crc(std::optional<std::uint32_t> expected, std::uint32_t found) {
  if (expected && *expected != found) {
    fail(ErrorCode::corrupt, "CRC-32C is ", found, ", the manifest says ", *expected);
  }
}

Tensor read_strings(Source& source, const Shape& shape, std::uint64_t bytes,
                    std::optional<std::uint32_t> expected_crc) {
  const auto count = static_cast<std::uint64_t>(shape.size());
  if (count > bytes / sizeof(Length)) {
    fail(ErrorCode::corrupt, bytes, " bytes cannot hold ", count, " strings");
  }
  Tensor result(DType::string, shape);
  std::uint64_t left = bytes;
  std::uint32_t crc = 0;
  for (std::string& text : result.mutable_values<std::string>()) {
    Length length{};
    if (left < sizeof(length)) fail(ErrorCode::corrupt, "a string has no length");
    source.read(length);
    left -= sizeof(length);
    const std::uint64_t n = from_length(length);
    if (n > left) fail(ErrorCode::corrupt, "a string of ", n, " bytes, but only ", left, " left");
    text.resize(size_in_memory(n, "a string"));
    source.read(std::as_writable_bytes(std::span(text)));
    left -= n;
    crc = crc32c(bytes_of(text), crc32c(length, crc));
  }
  if (left != 0) fail(ErrorCode::corrupt, left, " bytes after the last string");
  check_crc(expected_crc, crc);
  return result;
}

}  // namespace

std::uint64_t stored_bytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::string) return tensor.bytes();
  std::int64_t total = 0;
  for (const std::string& text : tensor.values<std::string>()) {
    total = checked_add(total, static_cast<std::int64_t>(text.size() + sizeof(Length)));
  }
  return static_cast<std::uint64_t>(total);
}

void for_stored_pieces(const Tensor& tensor,
                       const std::function<void(std::span<const std::byte>)>& take, bool swap) {
  if (tensor.dtype() == DType::string) {
    for (const std::string& text : tensor.values<std::string>()) {
      take(to_length(text.size()));
      take(bytes_of(text));
    }
    return;
  }
  std::span bytes(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
  if (bytes.empty()) return;
  if (!swap || number_width(tensor.dtype()) == 1) {
    take(bytes);
    return;
  }
  std::vector<std::byte> piece;
  for (; !bytes.empty(); bytes = bytes.subspan(piece.size())) {
    const auto part = bytes.first(std::min(bytes.size(), piece_size));
    piece.assign(part.begin(), part.end());
    swap_numbers(piece, tensor.dtype());
    take(piece);
  }
}

void for_stored_pieces(const Tensor& tensor,
                       const std::function<void(std::span<const std::byte>)>& take) {
  for_stored_pieces(tensor, take, other_byte_order);
}

void write_elements(Sink& sink, const Tensor& tensor) {
  for_stored_pieces(tensor, [&sink](std::span<const std::byte> piece) { sink.write(piece); });
}

std::uint32_t stored_crc(const Tensor& tensor) {
  std::uint32_t crc = 0;
  for_stored_pieces(tensor, [&crc](std::span<const std::byte> piece) { crc = crc32c(piece, crc); });
  return crc;
}

Tensor read_elements(Source& source, DType dtype, const Shape& shape, std::uint64_t bytes,
                     std::optional<std::uint32_t> crc, bool swap) {
  if (dtype == DType::string) return read_strings(source, shape, bytes, crc);
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const auto needed = static_cast<std::uint64_t>(checked_mul(shape.size(), width));
  if (needed != bytes) {
    fail(ErrorCode::corrupt, dtype, " ", shape, " takes ", needed, " bytes, ", bytes, " are given");
  }
  Tensor result(dtype, shape);
  const std::span elements(static_cast<std::byte*>(result.mutable_data()),
                           static_cast<std::size_t>(bytes));
  source.read(elements);
  check_crc(crc, crc32c(elements));
  const bool restricted = !is_pattern_of(dtype, std::byte{0x80});
  if (restricted) check_patterns(dtype, elements);
  if (swap) swap_numbers(elements, dtype);
  return result;
}

Tensor read_elements(Source& source, DType dtype, const Shape& shape, std::uint64_t bytes,
                     std::optional<std::uint32_t> crc) {
  return read_elements(source, dtype, shape, bytes, crc, other_byte_order);
}

}  // namespace ondine
