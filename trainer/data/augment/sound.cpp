#include "trainer/data/augment/sound.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ondine::data {
namespace {

// Positive: later.
void move_samples(std::vector<float>& samples, std::int64_t by) {
  const auto length = static_cast<std::int64_t>(samples.size());
  const std::int64_t cut = std::min(std::abs(by), length);
  if (by > 0) {
    std::move_backward(samples.begin(), samples.end() - cut, samples.end());
    std::fill_n(samples.begin(), cut, 0.0F);
  } else {
    std::move(samples.begin() + cut, samples.end(), samples.begin());
    std::fill_n(samples.end() - cut, cut, 0.0F);
  }
}

double root_mean_square(const std::vector<float>& samples) {
  double sum = 0;
  for (const float one : samples) sum += static_cast<double>(one) * static_cast<double>(one);
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(samples.size(), 1)));
}

}  // namespace

void change_sound(std::vector<float>& samples, std::int64_t rate, const Augmentation& options,
                  const RowKey& key) {
  const SoundDraws draws = draw_sound(options, rate, key);
  if (draws.shift != 0) move_samples(samples, draws.shift);
  if (draws.noise == 0) return;
  const auto deviation = static_cast<float>(draws.noise * root_mean_square(samples));
  for (std::size_t i = 0; i < samples.size(); i += 4) {
    const std::array<float, 4> normals = draw_noise(key, i / 4);
    for (std::size_t j = 0; j < std::min<std::size_t>(4, samples.size() - i); ++j) {
      samples[i + j] += deviation * normals[j];
    }
  }
}

}  // namespace ondine::data
