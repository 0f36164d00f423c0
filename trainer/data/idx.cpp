// IDX: 0 0 type rank, one big-endian 32-bit extent for each axis, big-endian elements.
#include <array>

#include "trainer/data/open_data.h"

namespace ondine {
namespace {

DType idx_dtype(std::byte code) {
  switch (std::to_integer<int>(code)) {
    case 0x08:
      return DType::uint8;
    case 0x09:
      return DType::int8;
    case 0x0b:
      return DType::int16;
    case 0x0c:
      return DType::int32;
    case 0x0d:
      return DType::float32;
    case 0x0e:
      return DType::float64;
    default:
      fail(ErrorCode::corrupt, "unknown IDX element type ", std::to_integer<int>(code));
  }
}

}  // namespace

Tensor read_idx(SharedSource& source, const Limits& limits) {
  std::array<std::byte, 4> magic{};
  source.read(magic);
  const DType dtype = idx_dtype(magic[2]);
  const int rank = std::to_integer<int>(magic[3]);
  if (static_cast<std::size_t>(rank) > limits.rank) {
    fail(ErrorCode::limit, "an array of ", rank, " dims");
  }
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<std::byte, 4> extent{};
    source.read(extent);
    std::int64_t value = 0;
    for (const std::byte byte : extent) value = value << 8 | std::to_integer<std::int64_t>(byte);
    shape.push_back(value);
  }
  Tensor result = read_tensor(source, dtype, shape, true, limits);
  if (source.position() != source.size()) {
    fail(ErrorCode::corrupt, source.size() - source.position(), " bytes after the array");
  }
  return result;
}

}  // namespace ondine
