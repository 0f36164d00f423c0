#include "core/packed_elements.h"

#include <utility>

#include "core/checked.h"
#include "core/deferred.h"
#include "core/element_bytes.h"

namespace ondine {
namespace {

// Fewer elements are unpacked at once.
constexpr std::size_t least_packed = std::size_t{64} << 10;

// Packing the elements again would not give the same bytes.
bool has_excess_bits(DType dtype, std::size_t elements, std::span<const std::byte> packed) {
  const std::size_t used = elements * packed_bits(dtype) % 8;
  return used != 0 && std::to_integer<unsigned>(packed.back()) >> used != 0;
}

}  // namespace

std::uint64_t packed_size(DType dtype, std::int64_t count) {
  const auto bits = static_cast<std::int64_t>(packed_bits(dtype));
  if (bits >= 8) return static_cast<std::uint64_t>(checked_mul(count, bits / 8));
  const std::int64_t in_byte = 8 / bits;
  return static_cast<std::uint64_t>(count / in_byte + (count % in_byte != 0 ? 1 : 0));
}

bool is_packed(DType dtype) noexcept {
  const std::size_t bits = packed_bits(dtype);
  return bits > 0 && bits < 8;
}

void unpack(DType dtype, std::span<const std::byte> packed, std::span<std::byte> elements) {
  const std::size_t bits = packed_bits(dtype);
  const std::size_t in_byte = 8 / bits;
  const auto mask = (1U << bits) - 1U;
  // x ^ s - s extends the sign bit s.
  const auto sign = is_signed_integer(dtype) ? 1U << (bits - 1) : 0U;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(packed[i / in_byte]);
    const unsigned low = byte >> (bits * (i % in_byte)) & mask;
    elements[i] = static_cast<std::byte>((low ^ sign) - sign);
  }
}

void pack(DType dtype, std::span<const std::byte> elements, std::span<std::byte> packed) {
  const std::size_t bits = packed_bits(dtype);
  const std::size_t in_byte = 8 / bits;
  const auto mask = (1U << bits) - 1U;
  for (auto& byte : packed) byte = std::byte{0};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const unsigned low = std::to_integer<unsigned>(elements[i]) & mask;
    packed[i / in_byte] |= static_cast<std::byte>(low << (bits * (i % in_byte)));
  }
}

Tensor share_packed(DType dtype, const Shape& shape, PackedElements packed,
                    std::function<void()> unpacked) {
  const std::size_t count = element_bytes(shape.size(), dtype);
  const auto compute = [dtype, packed, unpacked = std::move(unpacked)](std::span<std::byte> to) {
    unpack(dtype, packed.bytes, to);
    if (unpacked) unpacked();
  };
  if (count < least_packed || has_excess_bits(dtype, count, packed.bytes)) {
    Tensor tensor(dtype, shape);
    compute({static_cast<std::byte*>(tensor.mutable_data()), tensor.bytes()});
    return tensor;
  }
  return Tensor::share(dtype, shape,
                       std::make_shared<DeferredElements>(count, compute, packed, packed.bytes));
}

std::optional<PackedElements> packed_elements(const Tensor& tensor) {
  const DeferredElements* const deferred = deferred_elements(tensor);
  return deferred != nullptr ? deferred->packed() : std::nullopt;
}

}  // namespace ondine
