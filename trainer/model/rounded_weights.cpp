#include "trainer/model/rounded_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/byte_order.h"
#include "core/deferred.h"
#include "kernels/common/convert_rows.h"
#include "kernels/quantize/byte_scale.h"
#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::trainer {
namespace {

// Weights that are read in pieces of rows as float32. Those in a file may lie at any address, and
// their pages go back to the system, so that with the result they are little more than it. Those in
// memory that are deferred are there only meanwhile.
struct StoredWeights {
  Tensor owner;
  std::span<const std::byte> stored;  // empty: elements of the owner
  std::shared_ptr<const MappedFile> file;
  std::int64_t rows, columns;

  // body(row, column, elements, count) for all pieces, in order.
  template <class Body>
  void for_pieces(Body&& body) const;
};

template <class Body>
void StoredWeights::for_pieces(Body&& body) const {
  constexpr std::int64_t piece = 4096;
  constexpr std::size_t released = std::size_t{256} << 10;  // bytes of the file
  std::array<float, piece> elements;
  std::array<std::byte, piece * sizeof(float)> copy;
  const kernels::ConvertRow widen = kernels::row_to_float(owner.dtype());
  const std::size_t size = size_of(owner.dtype());
  std::optional<HeldElements> held;
  if (!file) held.emplace(owner);
  const std::byte* const from = file ? stored.data() : static_cast<const std::byte*>(held->data());
  std::size_t done = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; j += piece) {
      const std::int64_t count = std::min(piece, columns - j);
      const auto at = static_cast<std::size_t>(i * columns + j) * size;
      const auto bytes = static_cast<std::size_t>(count) * size;
      std::memcpy(copy.data(), from + at, bytes);
      if constexpr (other_byte_order) {
        if (file) swap_numbers({copy.data(), bytes}, owner.dtype());
      }
      widen(elements.data(), copy.data(), count);
      body(i, j, elements.data(), count);
      for (; file && at + bytes >= done + released; done += released) {
        file->release(stored.subspan(done, released));
      }
    }
  }
  // A fault also maps the pages around it, those of earlier pieces among them.
  if (file) file->release(stored);
}

void fill_bf16(const StoredWeights& weights, std::span<std::byte> memory) {
  auto* to = reinterpret_cast<std::uint16_t*>(memory.data());
  weights.for_pieces([&](std::int64_t, std::int64_t, const float* x, std::int64_t n) {
    math::simd_tables().convert->float_to_bfloat16(to, x, n);
    to += n;
  });
}

// The scale of each index of the axis.
void find_scales(const StoredWeights& weights, std::int64_t axis, std::span<std::byte> memory) {
  auto* const scales = reinterpret_cast<float*>(memory.data());
  const auto count = static_cast<std::int64_t>(memory.size() / sizeof(float));
  std::fill_n(scales, count, 0.0F);
  weights.for_pieces([&](std::int64_t i, std::int64_t j, const float* x, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) kernels::enlarge(scales[axis == 0 ? i : j + k], x[k]);
  });
  std::transform(scales, scales + count, scales, kernels::byte_scale);
}

void fill_bytes(const StoredWeights& weights, std::int64_t axis, const Tensor& scale,
                std::span<std::byte> memory) {
  const auto* const scales = static_cast<const float*>(scale.data());
  auto* to = reinterpret_cast<std::int8_t*>(memory.data());
  std::array<float, 4096> factors;
  weights.for_pieces([&](std::int64_t i, std::int64_t j, const float* x, std::int64_t n) {
    const bool by_row = axis == 0;
    const float* const first = scales + (by_row ? i : j);
    std::transform(first, first + (by_row ? 1 : n), factors.begin(), kernels::byte_factor);
    math::simd_tables().quantize->round_to_bytes(to, x, factors.data(), !by_row, n);
    to += n;
  });
}

Tensor deferred(DType dtype, const Shape& shape, DeferredElements::Compute compute,
                std::span<const std::byte> source) {
  const auto bytes = static_cast<std::size_t>(shape.size()) * size_of(dtype);
  return Tensor::share(
      dtype, shape,
      std::make_shared<DeferredElements>(bytes, std::move(compute), std::nullopt, source));
}

}  // namespace

RoundedWeights::RoundedWeights(const Files& files) : files_(files.begin(), files.end()) {}

std::shared_ptr<const MappedFile> RoundedWeights::file_of(std::span<const std::byte> stored) const {
  for (const auto& weak : files_) {
    auto file = weak.lock();
    if (file && file->maps(stored)) return file;
  }
  return nullptr;
}

RoundedWeights::Key RoundedWeights::key_of(const Tensor& weights) {
  const DeferredElements* const copy = deferred_elements(weights);
  const auto dims = weights.shape().span();
  return {copy != nullptr ? copy->memory() : weights.data(), weights.dtype(),
          std::vector<std::int64_t>(dims.begin(), dims.end())};
}

Tensor RoundedWeights::of(const Tensor& weights) {
  const DeferredElements* const copy = deferred_elements(weights);
  if (copy != nullptr && copy->computed()) return {};
  const std::span<const std::byte> stored =
      copy != nullptr ? copy->source()
                      : std::span(static_cast<const std::byte*>(weights.data()), weights.bytes());
  const auto file = stored.empty() ? nullptr : file_of(stored);
  if (!file && (copy == nullptr || !stored.empty())) return {};
  const std::lock_guard lock(mutex_);
  Tensor& rounded = known_[key_of(weights)];
  if (rounded.defined()) return rounded;
  const StoredWeights from{weights, stored, file, 1, weights.size()};
  rounded = deferred(
      DType::bfloat16, weights.shape(),
      [from](std::span<std::byte> memory) { fill_bf16(from, memory); }, stored);
  return rounded;
}

graph::RoundedMatrix RoundedWeights::in_bytes(const Tensor& weights, std::int64_t axis) {
  const DeferredElements* const copy = deferred_elements(weights);
  const std::lock_guard lock(mutex_);
  auto& [source, held] = bytes_[key_of(weights)];
  if (held.elements.defined()) return held;
  source = weights;
  const Shape& shape = weights.shape();
  StoredWeights from{weights, {}, nullptr, shape[0], shape[1]};
  const bool unread = copy != nullptr && !copy->computed();
  from.stored = unread ? copy->source()
                       : std::span(static_cast<const std::byte*>(weights.data()), weights.bytes());
  from.file = from.stored.empty() ? nullptr : file_of(from.stored);
  held.axis = axis;
  held.scale = deferred(
      DType::float32, {shape[static_cast<std::size_t>(axis)]},
      [from, axis](std::span<std::byte> memory) { find_scales(from, axis, memory); }, from.stored);
  held.elements = deferred(
      DType::int8, shape,
      [from, axis, scale = held.scale](std::span<std::byte> memory) {
        fill_bytes(from, axis, scale, memory);
      },
      from.stored);
  return held;
}

}  // namespace ondine::trainer
