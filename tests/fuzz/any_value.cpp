#include "tests/fuzz/any_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/float_formats.h"

namespace ondine::test {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

// Turns a byte into one that the storage type may hold (ondine/dtype.h).
std::uint8_t storable(DType dtype, std::uint8_t byte) {
  switch (dtype) {
    case DType::boolean:
      return byte & 1U;
    case DType::uint4:
    case DType::float4e2m1:
      return byte & 15U;
    case DType::uint2:
      return byte & 3U;
    case DType::int4:
      return static_cast<std::uint8_t>(static_cast<std::int8_t>(byte << 4) >> 4);
    case DType::int2:
      return static_cast<std::uint8_t>(static_cast<std::int8_t>(byte << 6) >> 6);
    default:
      return byte;
  }
}

template <class T>
void put(Tensor& tensor, std::size_t i, T value) {
  std::memcpy(static_cast<std::byte*>(tensor.mutable_data()) + i * sizeof(T), &value, sizeof(T));
}

void put_any(Choices& choices, Tensor& tensor, std::size_t i) {
  switch (tensor.dtype()) {
    case DType::float32:
      return put(tensor, i, static_cast<float>(any_real(choices)));
    case DType::float64:
      return put(tensor, i, any_real(choices));
    case DType::string:
      static_cast<std::string*>(tensor.mutable_data())[i] = any_text(choices);
      return;
    default:
      break;
  }
  const std::size_t width = size_of(tensor.dtype());
  const std::int64_t value = any_integer(choices);
  if (width == 1) return put(tensor, i, storable(tensor.dtype(), static_cast<std::uint8_t>(value)));
  std::byte bits[16] = {};
  std::memcpy(bits, &value, sizeof(value));
  // An integer that is small as int64 is small in every narrower type; the lowest one too.
  if (value == lowest && width < 8) bits[width - 1] = std::byte{0x80};
  std::memcpy(static_cast<std::byte*>(tensor.mutable_data()) + i * width, bits, width);
}

}  // namespace

std::int64_t any_integer(Choices& choices) {
  static const std::vector<std::int64_t> usual{0, 1, 2, 3, -1, -2, 4, 5};
  static const std::vector<std::int64_t> odd{lowest,
                                             lowest + 1,
                                             highest,
                                             highest - 1,
                                             std::int64_t{1} << 62,
                                             std::int64_t{1} << 32,
                                             2147483647,
                                             2147483648,
                                             -2147483648,
                                             1000,
                                             -1000,
                                             std::int64_t{1} << 40,
                                             65536,
                                             7,
                                             -3,
                                             std::int64_t{3037000500}};
  return choices.once_in(4) ? choices.pick(odd) : choices.pick(usual);
}

double any_real(Choices& choices) {
  static const std::vector<double> odd{std::nan(""), INFINITY, -INFINITY, 1e308,   -1e308, 3.4e38,
                                       1e-320,       -0.0,     9.3e18,    -9.3e18, 1e10};
  static const std::vector<double> usual{0, 1, 0.5, -1, 2, -0.25, 3, 0.1};
  return choices.once_in(5) ? choices.pick(odd) : choices.pick(usual);
}

std::string any_text(Choices& choices) {
  static const std::vector<std::string> words{"",      "a",        "B c",    "1.5",    "-7",
                                              "nan",   "\xc3\xa9", "\xff",   "a,b,,c", "x\ny",
                                              "1e999", "[a-z]+",   "(a|b)*", "  9 ",   "%s"};
  return choices.pick(words);
}

Shape any_shape(Choices& choices, const Shape& usual) {
  switch (choices.below(10)) {
    case 6:
      return {};
    case 7:
      return {1};
    case 8:  // a vector along one of its axes
      // Not a large extent, which is one only beside one of 0.
      if (!usual.empty()) return {std::min<std::int64_t>(usual[choices.below(usual.rank())], 6)};
      return {};
    case 9:
      break;
    default:
      return usual;
  }
  std::vector<std::int64_t> dims(choices.below(5));
  for (auto& dim : dims) dim = static_cast<std::int64_t>(choices.below(6));
  // In an empty tensor the other extents cost nothing; together they stay below 2^56.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    const auto sum = std::accumulate(dims.begin(), dims.end(), std::int64_t{0});
    for (auto& dim : dims) dim = dim == 0 ? 0 : std::int64_t{1} << (sum <= 8 ? 7 : 3) * dim;
  }
  return Shape(std::span<const std::int64_t>(dims));
}

Tensor any_tensor(Choices& choices, DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  const auto n = static_cast<std::size_t>(tensor.size());
  for (std::size_t i = 0; i < n; ++i) put_any(choices, tensor, i);
  return tensor;
}

}  // namespace ondine::test
