#include "trainer/data/augment/draws.h"

#include <array>
#include <cmath>
#include <numbers>

#include "core/message.h"
#include "core/random/random.h"
#include "kernels/simd/exact/exact_kernels.h"

namespace ondine::data {
namespace {

// Streams of no node, and none that shuffles.
constexpr std::uint32_t image_stream = 0xfffffffeU;
constexpr std::uint32_t mix_stream = 0xfffffffdU;
constexpr std::uint32_t sound_stream = 0xfffffffcU;
// Blocks of random numbers for each row of a stream.
constexpr std::uint64_t image_blocks = 4;
constexpr std::uint64_t mix_blocks = 256;
constexpr std::uint64_t sound_blocks = std::uint64_t{1} << 32;
constexpr std::uint64_t noise_blocks = noise_group / 4;

std::array<double, 4> uniforms(const RandomKey& key, std::uint64_t block) {
  std::array<double, 4> result{};
  const auto words = random_block(key, block);
  for (std::size_t i = 0; i < 4; ++i) result[i] = static_cast<double>(words[i]) * 0x1p-32;
  return result;
}

double between(double low, double high, double uniform) { return low + (high - low) * uniform; }

std::int64_t up_to(std::int64_t bound, double uniform) {
  return static_cast<std::int64_t>(std::floor(uniform * static_cast<double>(2 * bound + 1))) -
         bound;
}

// The random numbers of one gamma variate.
class MixNumbers {
 public:
  MixNumbers(const RowKey& key, std::uint64_t first)
      : key_{key.seed, key.epoch, mix_stream}, next_(key.row * mix_blocks + first) {}

  // In (0, 1].
  double uniform() { return 1 - uniforms(key_, next_++)[0]; }
  double normal() {
    const auto u = uniforms(key_, next_++);
    return std::sqrt(-2 * std::log(1 - u[0])) * std::cos(2 * std::numbers::pi * u[1]);
  }

 private:
  RandomKey key_;
  std::uint64_t next_;
};

// G. Marsaglia, W. W. Tsang: A simple method for generating gamma variables, 2000.
double gamma_variate(double shape, MixNumbers numbers) {
  double boost = 1;
  if (shape < 1) {
    boost = std::pow(numbers.uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  // A try is refused in less than 5 % of all cases.
  for (int i = 0; i < 40; ++i) {
    const double x = numbers.normal();
    const double u = numbers.uniform();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) return boost * d * v;
  }
  return boost * d;
}

}  // namespace

void require_valid(const Augmentation& options) {
  const auto require = [](bool holds, const char* what, auto found) {
    if (!holds) fail(ErrorCode::mismatch, "augmentation: ", what, ", found ", found);
  };
  constexpr std::int64_t most_pixels = 1 << 24;
  require(options.crop >= 0 && options.crop < most_pixels, "crop must not be negative",
          options.crop);
  require(options.cutout >= 0 && options.cutout < most_pixels, "cutout must not be negative",
          options.cutout);
  require(options.rotate >= 0 && options.rotate <= 180, "rotate must be from 0 to 180 degrees",
          options.rotate);
  require(options.scale_min > 0, "factors of scale must be positive", options.scale_min);
  require(options.scale_max >= options.scale_min && std::isfinite(options.scale_max),
          "the upper bound of scale must not be below the lower one", options.scale_max);
  require(options.color >= 0 && options.color < 1, "color must be in [0, 1)", options.color);
  require(options.time_shift >= 0 && options.time_shift < 1e6,
          "time-shift must be seconds and not negative", options.time_shift);
  require(options.noise >= 0 && std::isfinite(options.noise), "noise must not be negative",
          options.noise);
  require(options.mixup >= 0 && std::isfinite(options.mixup), "mixup must not be negative",
          options.mixup);
}

std::string describe(const Augmentation& options) {
  std::string text;
  const auto add = [&](bool set, const auto&... parts) {
    if (set) text += (text.empty() ? "" : ",") + cat(parts...);
  };
  add(options.flip, "flip");
  add(options.flip_vertical, "flip-vertical");
  add(options.crop != 0, "crop=", options.crop);
  add(options.rotate != 0, "rotate=", options.rotate);
  add(options.scale_min != 1 || options.scale_max != 1, "scale=", options.scale_min, ":",
      options.scale_max);
  add(options.color != 0, "color=", options.color);
  add(options.cutout != 0, "cutout=", options.cutout);
  add(options.mixup != 0, "mixup=", options.mixup);
  add(options.time_shift != 0, "time-shift=", options.time_shift);
  add(options.noise != 0, "noise=", options.noise);
  return text;
}

Draws draw(const Augmentation& options, const RowKey& key) {
  const RandomKey stream{key.seed, key.epoch, image_stream};
  const auto first = uniforms(stream, key.row * image_blocks);
  const auto second = uniforms(stream, key.row * image_blocks + 1);
  const auto third = uniforms(stream, key.row * image_blocks + 2);
  Draws draws;
  draws.flip_x = options.flip && first[0] < 0.5;
  draws.flip_y = options.flip_vertical && first[1] < 0.5;
  draws.shift_x = up_to(options.crop, first[2]);
  draws.shift_y = up_to(options.crop, first[3]);
  draws.angle = between(-options.rotate, options.rotate, second[0]) * std::numbers::pi / 180;
  draws.scale = between(options.scale_min, options.scale_max, second[1]);
  draws.brightness = between(1 - options.color, 1 + options.color, second[2]);
  draws.contrast = between(1 - options.color, 1 + options.color, second[3]);
  draws.saturation = between(1 - options.color, 1 + options.color, third[0]);
  draws.cut_x = third[1];
  draws.cut_y = third[2];
  return draws;
}

SoundDraws draw_sound(const Augmentation& options, std::int64_t rate, const RowKey& key) {
  const auto first = uniforms({key.seed, key.epoch, sound_stream}, key.row * sound_blocks);
  const std::int64_t most = std::llround(options.time_shift * static_cast<double>(rate));
  return {up_to(most, first[0]), options.noise * first[1]};
}

void draw_noise(const RowKey& key, std::uint64_t group,
                std::span<std::array<float, noise_group>> normals) {
  if (normals.empty()) return;
  // The first blocks of a row are those of draw_sound().
  const std::uint64_t first = key.row * (sound_blocks / noise_blocks) + 1 + group;
  math::exact_kernels(math::simd_tables())
      .normals(normals[0].data(), {key.seed, key.epoch, sound_stream}, first,
               static_cast<std::int64_t>(normals.size()));
}

std::uint64_t draw_partner(const RowKey& key, std::uint64_t rows) {
  const auto words = random_block({key.seed, key.epoch, mix_stream}, key.row * mix_blocks);
  return (static_cast<std::uint64_t>(words[0]) << 32 | words[1]) % rows;
}

double draw_share(double alpha, const RowKey& key) {
  const double a = gamma_variate(alpha, MixNumbers(key, 1));
  const double b = gamma_variate(alpha, MixNumbers(key, mix_blocks / 2));
  // Both underflow where alpha is tiny: all of one row.
  return a + b > 0 ? a / (a + b) : 1;
}

}  // namespace ondine::data
