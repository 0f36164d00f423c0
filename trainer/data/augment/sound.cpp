#include "trainer/data/augment/sound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace ondine::data {
namespace {

// Positive: later.
void move_samples(std::span<float> samples, std::int64_t by) {
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

double root_mean_square(std::span<const float> samples) {
  // Several sums, for an addition waits for the one before.
  std::array<double, 8> sums{};
  for (std::size_t i = 0; i < samples.size(); i += sums.size()) {
    const std::size_t count = std::min(sums.size(), samples.size() - i);
    for (std::size_t j = 0; j < count; ++j) {
      const auto one = static_cast<double>(samples[i + j]);
      sums[j] += one * one;
    }
  }
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(samples.size(), 1)));
}

void add_noise(std::span<float> samples, float deviation, const RowKey& key) {
  std::array<std::array<float, noise_group>, 16> normals;
  constexpr std::size_t most = normals.size() * noise_group;
  for (std::size_t first = 0; first < samples.size(); first += most) {
    const auto some = samples.subspan(first, std::min(most, samples.size() - first));
    const std::size_t groups = (some.size() + noise_group - 1) / noise_group;
    draw_noise(key, first / noise_group, std::span(normals).first(groups));
    const float* const noise = normals[0].data();
    for (std::size_t i = 0; i < some.size(); ++i) some[i] += deviation * noise[i];
  }
}

}  // namespace

void change_sound(std::span<float> samples, std::int64_t rate, const Augmentation& options,
                  const RowKey& key) {
  const SoundDraws draws = draw_sound(options, rate, key);
  if (draws.shift != 0) move_samples(samples, draws.shift);
  if (draws.noise == 0) return;
  add_noise(samples, static_cast<float>(draws.noise * root_mean_square(samples)), key);
}

}  // namespace ondine::data
