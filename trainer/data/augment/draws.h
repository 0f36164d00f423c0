// The random numbers of augmentation: pure functions of seed, epoch and row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <ondine/augment.h>

namespace ondine::data {

// Error(mismatch) naming what is out of range.
void require_valid(const Augmentation& options);
// Empty when nothing is to be done. Equal for equal options only.
std::string describe(const Augmentation& options);

// Changes drawn for one image.
struct Draws {
  std::int64_t shift_x = 0;
  std::int64_t shift_y = 0;
  double angle = 0;  // radians
  double scale = 1;
  bool flip_x = false;
  bool flip_y = false;
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double cut_x = 0;  // in [0, 1), of the width
  double cut_y = 0;
};

struct RowKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t row = 0;
};

Draws draw(const Augmentation& options, const RowKey& key);

// Changes drawn for one recording.
struct SoundDraws {
  std::int64_t shift = 0;  // samples; positive: later
  double noise = 0;        // of the root mean square
};

SoundDraws draw_sound(const Augmentation& options, std::int64_t rate, const RowKey& key);
// Standard normal numbers of the samples from noise_group * group on, the same for every processor.
inline constexpr std::size_t noise_group = 64;
void draw_noise(const RowKey& key, std::uint64_t group,
                std::span<std::array<float, noise_group>> normals);

// Uniform in [0, rows).
std::uint64_t draw_partner(const RowKey& key, std::uint64_t rows);
// From Beta(alpha, alpha).
double draw_share(double alpha, const RowKey& key);

}  // namespace ondine::data
