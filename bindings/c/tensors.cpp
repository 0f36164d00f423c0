#include "bindings/c/tensors.h"

#include <algorithm>
#include <span>
#include <string>

#include <ondine/error.h>

namespace ondine::c {
namespace {

// Whether the type allows the byte as an element.
bool is_element(DType dtype, std::uint8_t byte) noexcept {
  switch (dtype) {
    case DType::boolean:
      return byte <= 1;
    case DType::uint4:
    case DType::float4e2m1:
      return byte <= 15;
    case DType::int4:
      return byte <= 7 || byte >= 0xf8;
    case DType::uint2:
      return byte <= 3;
    case DType::int2:
      return byte <= 1 || byte >= 0xfe;
    default:
      return true;
  }
}

std::size_t alignment_of(DType dtype) noexcept {
  const bool is_pair = is_complex(dtype);
  return is_pair ? size_of(dtype) / 2 : size_of(dtype);
}

}  // namespace

Shape shape_of(std::size_t rank, const std::int64_t* dims) {
  if (rank > 0 && dims == nullptr) throw Error(ErrorCode::mismatch, "dims is NULL");
  return Shape(std::span<const std::int64_t>(dims, rank));
}

DType plain_dtype(int dtype) {
  const bool is_known = dtype > 0 && dtype < dtype_count;
  if (!is_known) {
    throw Error(ErrorCode::mismatch, "there is no element type " + std::to_string(dtype));
  }
  if (static_cast<DType>(dtype) == DType::string) {
    throw Error(ErrorCode::mismatch, "strings are made by ondine_tensor_strings");
  }
  return static_cast<DType>(dtype);
}

void check_elements(DType dtype, const Shape& shape, const void* data) {
  const auto count = static_cast<std::size_t>(shape.size());
  if (count == 0) return;
  if (data == nullptr) throw Error(ErrorCode::mismatch, "the elements are NULL");
  if (reinterpret_cast<std::uintptr_t>(data) % alignment_of(dtype) != 0) {  // NOLINT
    throw Error(ErrorCode::mismatch, "elements of type " + std::string(to_string(dtype)) +
                                         " must be aligned to " +
                                         std::to_string(alignment_of(dtype)) + " bytes");
  }
  if (size_of(dtype) != 1 || is_element(dtype, 0x7e)) return;
  const std::span bytes(static_cast<const std::uint8_t*>(data), count);
  const auto bad = std::find_if_not(bytes.begin(), bytes.end(),
                                    [&](std::uint8_t byte) { return is_element(dtype, byte); });
  if (bad == bytes.end()) return;
  throw Error(ErrorCode::mismatch, "element " + std::to_string(bad - bytes.begin()) +
                                       " holds the byte " + std::to_string(*bad) +
                                       ", which is no " + std::string(to_string(dtype)));
}

}  // namespace ondine::c
