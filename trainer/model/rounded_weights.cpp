#include "trainer/model/rounded_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/byte_order.h"
#include "core/deferred.h"
#include "kernels/common/convert_rows.h"
#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::trainer {
namespace {

// Float32 elements of a file, which may lie at any address. Its pages and those of the result
// together are little more than the result.
void round_file(const MappedFile& file, std::span<const std::byte> stored,
                std::span<std::byte> rounded) {
  constexpr std::size_t released = std::size_t{256} << 10;  // bytes of the file
  std::array<float, 4096> elements;
  constexpr std::size_t piece = sizeof(elements);
  auto* to = reinterpret_cast<std::uint16_t*>(rounded.data());
  for (std::size_t at = 0; at < stored.size(); at += piece) {
    const auto part = stored.subspan(at, std::min(piece, stored.size() - at));
    std::memcpy(elements.data(), part.data(), part.size());
    if constexpr (other_byte_order) {
      swap_numbers({reinterpret_cast<std::byte*>(elements.data()), part.size()}, DType::float32);
    }
    const auto count = static_cast<std::int64_t>(part.size() / sizeof(float));
    math::simd_tables().convert->float_to_bfloat16(to, elements.data(), count);
    to += count;
    if ((at + piece) % released == 0) file.release(stored.subspan(at + piece - released, released));
  }
  // A fault also maps the pages around it, those of earlier pieces among them.
  file.release(stored);
}

// Deferred elements, which are in memory only meanwhile.
void round_held(const Tensor& weights, std::span<std::byte> rounded) {
  const HeldElements held(weights);
  math::simd_tables().convert->float_to_bfloat16(reinterpret_cast<std::uint16_t*>(rounded.data()),
                                                 static_cast<const float*>(held.data()),
                                                 weights.size());
}

// A matrix that is read in pieces of rows as float32: from a file, whose pages go back to the
// system, or from memory.
struct StoredWeights {
  Tensor owner;
  std::span<const std::byte> stored;  // empty: elements of the owner
  std::shared_ptr<const MappedFile> file;
  std::int64_t axis;

  std::int64_t rows() const { return owner.shape()[0]; }
  std::int64_t columns() const { return owner.shape()[1]; }

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
  for (std::int64_t i = 0; i < rows(); ++i) {
    for (std::int64_t j = 0; j < columns(); j += piece) {
      const std::int64_t count = std::min(piece, columns() - j);
      const auto at = static_cast<std::size_t>(i * columns() + j) * size;
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
  if (file) file->release(stored);
}

// The largest magnitude of each index of the axis / 127.
void find_scales(const StoredWeights& weights, std::span<std::byte> memory) {
  auto* const scales = reinterpret_cast<float*>(memory.data());
  const auto count = static_cast<std::int64_t>(memory.size() / sizeof(float));
  std::fill_n(scales, count, 0.0F);
  const auto enlarge = [](float& most, float x) {
    if (std::abs(x) > most || std::isnan(x)) most = std::abs(x);  // NaN stays
  };
  weights.for_pieces([&](std::int64_t i, std::int64_t j, const float* x, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) enlarge(scales[weights.axis == 0 ? i : j + k], x[k]);
  });
  for (std::int64_t i = 0; i < count; ++i) {
    scales[i] =
        std::isfinite(scales[i]) ? scales[i] / 127 : std::numeric_limits<float>::quiet_NaN();
    if (scales[i] < std::numeric_limits<float>::min()) scales[i] = 0;
  }
}

void fill_bytes(const StoredWeights& weights, const Tensor& scale, std::span<std::byte> memory) {
  const auto* const scales = static_cast<const float*>(scale.data());
  auto* to = reinterpret_cast<std::int8_t*>(memory.data());
  std::array<float, 4096> inverses;
  weights.for_pieces([&](std::int64_t i, std::int64_t j, const float* x, std::int64_t n) {
    const bool by_row = weights.axis == 0;
    for (std::int64_t k = 0; k < (by_row ? 1 : n); ++k) {
      const float each = scales[by_row ? i : j + k];
      inverses[static_cast<std::size_t>(k)] = each > 0 ? 1 / each : 0;
    }
    math::simd_tables().quantize->round_to_bytes(to, x, inverses.data(), !by_row, n);
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
  const auto round = [stored, file, owner = weights](std::span<std::byte> memory) {
    file ? round_file(*file, stored, memory) : round_held(owner, memory);
  };
  rounded = deferred(DType::bfloat16, weights.shape(), round, stored);
  return rounded;
}

graph::RoundedMatrix RoundedWeights::in_bytes(const Tensor& weights, std::int64_t axis) {
  const DeferredElements* const copy = deferred_elements(weights);
  const std::lock_guard lock(mutex_);
  auto& [source, held] = bytes_[key_of(weights)];
  if (held.elements.defined()) return held;
  source = weights;
  StoredWeights from{weights, {}, nullptr, axis};
  const bool unread = copy != nullptr && !copy->computed();
  from.stored = unread ? copy->source()
                       : std::span(static_cast<const std::byte*>(weights.data()), weights.bytes());
  from.file = from.stored.empty() ? nullptr : file_of(from.stored);
  const Shape& shape = weights.shape();
  held.axis = axis;
  held.scale = deferred(
      DType::float32, {shape[static_cast<std::size_t>(axis)]},
      [from](std::span<std::byte> memory) { find_scales(from, memory); }, from.stored);
  held.elements = deferred(
      DType::int8, shape,
      [from, scale = held.scale](std::span<std::byte> memory) { fill_bytes(from, scale, memory); },
      from.stored);
  return held;
}

}  // namespace ondine::trainer
