#include "trainer/rounded_weights.h"

#include <algorithm>

#include "core/deferred.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::trainer {
namespace {

// Pages of the file and of the result together are little more than the result.
constexpr std::size_t piece = std::size_t{64} << 10;  // elements

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
  auto file = file_of(stored);
  if (!file) return {};
  const std::lock_guard lock(mutex_);
  Tensor& rounded = known_[copy != nullptr ? copy->memory() : weights.data()];
  if (rounded.defined()) return rounded;
  const auto round = [weights, stored, file](std::span<std::byte> memory) {
    const HeldElements held(weights);
    const auto* const from = static_cast<const float*>(held.data());
    auto* const to = reinterpret_cast<std::uint16_t*>(memory.data());
    const auto count = static_cast<std::size_t>(weights.size());
    for (std::size_t at = 0; at < count; at += piece) {
      const std::size_t some = std::min(piece, count - at);
      math::kernels().convert->float_to_bfloat16(to + at, from + at,
                                                 static_cast<std::int64_t>(some));
      if (stored.data() == held.data()) {
        file->release(stored.subspan(at * sizeof(float), some * sizeof(float)));
      }
    }
    file->release(stored);
  };
  rounded = Tensor::share(
      DType::bfloat16, weights.shape(),
      std::make_shared<DeferredElements>(weights.bytes() / 2, round, std::nullopt, stored));
  return rounded;
}

}  // namespace ondine::trainer
