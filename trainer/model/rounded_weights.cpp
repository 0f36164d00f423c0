#include "trainer/model/rounded_weights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/byte_order.h"
#include "core/deferred.h"
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

}  // namespace

RoundedWeights::RoundedWeights(const Files& files) : files_(files.begin(), files.end()) {}

std::shared_ptr<const MappedFile> RoundedWeights::file_of(std::span<const std::byte> stored) const {
  for (const auto& weak : files_) {
    auto file = weak.lock();
    if (file && file->maps(stored)) return file;
  }
  return nullptr;
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
  Tensor& rounded = known_[copy != nullptr ? copy->memory() : weights.data()];
  if (rounded.defined()) return rounded;
  const auto round = [stored, file, owner = weights](std::span<std::byte> memory) {
    file ? round_file(*file, stored, memory) : round_held(owner, memory);
  };
  rounded = Tensor::share(
      DType::bfloat16, weights.shape(),
      std::make_shared<DeferredElements>(weights.bytes() / 2, round, std::nullopt, stored));
  return rounded;
}

}  // namespace ondine::trainer
