#include "ondine/synthetic.h"

#include <algorithm>
#include <random>

#include <ondine/printable.h>

namespace ondine::cli {
namespace {

template <class T, class Draw>
Tensor filled(const Shape& shape, Draw&& draw) {
  Tensor tensor(dtype_of<T>, shape);
  for (T& value : tensor.mutable_values<T>()) value = static_cast<T>(draw());
  return tensor;
}

[[noreturn]] void refuse(const PortInfo& port) {
  throw Error(ErrorCode::unsupported, "no values can be made up for input '" + port.name + "', a " +
                                          port.type + "; they are made for numbers and booleans");
}

// Bits of which the first of each row, and one of any two neighbors in it, is 1.
class MaskBits {
 public:
  explicit MaskBits(std::int64_t width) : width_(width) {}

  std::uint64_t next(std::mt19937_64& random) {
    const bool first = at_++ % width_ == 0;
    last_ = first || last_ == 0 ? 1 : random() >> 63;
    return last_;
  }

 private:
  std::int64_t width_;
  std::int64_t at_ = 0;
  std::uint64_t last_ = 0;
};

bool is_mask(const PortInfo& port) {
  return port.name.find("mask") != std::string::npos || port.name.find("Mask") != std::string::npos;
}

Tensor draw_tensor(const PortInfo& port, const Shape& shape, std::mt19937_64& random) {
  const auto real = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  const auto bit = [&] { return random() >> 63; };
  MaskBits mask_bits(shape.empty() ? 1 : shape.back());
  const bool mask = is_mask(port);
  const auto integer = [&] { return mask ? mask_bits.next(random) : bit(); };
  switch (port.dtype) {
    case DType::float32:
      return filled<float>(shape, real);
    case DType::float64:
      return filled<double>(shape, real);
    case DType::float16:
    case DType::bfloat16:
      return Tensor(port.dtype, shape);
    case DType::int64:
      return filled<std::int64_t>(shape, integer);
    case DType::int32:
      return filled<std::int32_t>(shape, integer);
    case DType::int16:
      return filled<std::int16_t>(shape, integer);
    case DType::int8:
      return filled<std::int8_t>(shape, integer);
    case DType::uint64:
      return filled<std::uint64_t>(shape, integer);
    case DType::uint32:
      return filled<std::uint32_t>(shape, integer);
    case DType::uint16:
      return filled<std::uint16_t>(shape, integer);
    case DType::uint8:
      return filled<std::uint8_t>(shape, integer);
    case DType::boolean:
      return filled<bool>(shape, bit);
    default:
      refuse(port);
  }
}

}  // namespace

NamedValues synthetic_feeds(const std::vector<PortInfo>& ports, std::int64_t dim,
                            std::uint64_t seed, const NamedShapes& given) {
  std::mt19937_64 random(seed);
  const NamedShapes shapes = complete_shapes(ports, given, dim);
  NamedValues feeds;
  for (const PortInfo& port : ports) {
    const auto shape = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const auto& one) { return one.first == port.name; });
    const bool unknown = shape == shapes.end() || port.dtype == DType::undefined;
    if (unknown && port.has_default) continue;
    if (port.dtype == DType::undefined) refuse(port);
    if (unknown) {
      const std::string name = printable(port.name);
      throw Error(ErrorCode::mismatch,
                  "the shape of input '" + name + "', a " + printable(port.type) +
                      ", is not known; give it: --shape " + name + "=DIMxDIMx...");
    }
    feeds.emplace_back(port.name, draw_tensor(port, shape->second, random));
  }
  return feeds;
}

}  // namespace ondine::cli
