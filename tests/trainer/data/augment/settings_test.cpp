// The bounds of settings, their text, and images as planes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "trainer/data/augment/planes.h"

using namespace ondine;
using namespace ondine::data;

namespace {

std::string refusal(const Augmentation& options) {
  try {
    require_valid(options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.what();
  }
  return {};
}

template <class T>
std::vector<float> loaded(DType dtype, const PlaneLayout& layout, const std::vector<T>& row) {
  std::vector<float> planes(99);
  load_planes(reinterpret_cast<const std::byte*>(row.data()), dtype, layout, planes);
  return planes;
}

template <class T>
std::vector<T> stored(DType dtype, const PlaneLayout& layout, const std::vector<float>& planes) {
  std::vector<T> row(planes.size());
  store_planes(planes, dtype, layout, reinterpret_cast<std::byte*>(row.data()));
  return row;
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("settings of augmentation are accepted up to their bounds and refused beyond them") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int64_t pixels = 1 << 24;
  const std::vector<Augmentation> accepted{{},
                                           {.crop = pixels - 1},
                                           {.cutout = pixels - 1},
                                           {.rotate = 180},
                                           {.scale_min = 1e-9},
                                           {.scale_min = 2, .scale_max = 2},
                                           {.color = 0.999},
                                           {.time_shift = 999999},
                                           {.noise = 1e9},
                                           {.mixup = 1e9}};
  for (const Augmentation& options : accepted) CHECK(refusal(options).empty());
  const std::vector<std::pair<Augmentation, std::string>> refused{
      {{.crop = -1}, "crop must not be negative, found -1"},
      {{.crop = pixels}, "crop must not be negative, found 16777216"},
      {{.cutout = -1}, "cutout must not be negative, found -1"},
      {{.cutout = pixels}, "cutout must not be negative"},
      {{.rotate = -0.5}, "rotate must be from 0 to 180 degrees, found -0.5"},
      {{.rotate = 180.5}, "rotate must be from 0 to 180 degrees, found 180.5"},
      {{.rotate = nan}, "rotate must be from 0 to 180 degrees"},
      {{.scale_min = 0}, "factors of scale must be positive, found 0"},
      {{.scale_min = 2, .scale_max = 1.5}, "the upper bound of scale must not be below the lower"},
      {{.scale_max = inf}, "the upper bound of scale"},
      {{.color = -0.25}, "color must be in [0, 1), found -0.25"},
      {{.color = 1}, "color must be in [0, 1), found 1"},
      {{.time_shift = -1}, "time-shift must be seconds and not negative, found -1"},
      {{.time_shift = 1e6}, "time-shift must be seconds"},
      {{.noise = -0.5}, "noise must not be negative, found -0.5"},
      {{.noise = inf}, "noise must not be negative"},
      {{.mixup = -0.5}, "mixup must not be negative, found -0.5"},
      {{.mixup = inf}, "mixup must not be negative"}};
  for (const auto& [options, message] : refused) {
    CHECK_THAT(refusal(options), Catch::Contains("augmentation: " + message));
  }
}

TEST_CASE("settings are described by what they change, in the order of the command line") {
  CHECK(describe(Augmentation{}).empty());
  CHECK(describe(Augmentation{.flip = true}) == "flip");
  CHECK(describe(Augmentation{.scale_max = 1.5}) == "scale=1:1.5");
  CHECK(describe(Augmentation{.flip = true,
                              .flip_vertical = true,
                              .crop = 4,
                              .rotate = 15,
                              .scale_min = 0.5,
                              .scale_max = 2,
                              .color = 0.25,
                              .cutout = 8,
                              .mixup = 0.5,
                              .time_shift = 0.125,
                              .noise = 0.75}) ==
        "flip,flip-vertical,crop=4,rotate=15,scale=0.5:2,color=0.25,cutout=8,mixup=0.5,"
        "time-shift=0.125,noise=0.75");
}

TEST_CASE("draws lie in the bounds of their settings and keep to them where nothing changes") {
  const Augmentation options{.flip = true,
                             .flip_vertical = true,
                             .crop = 2,
                             .rotate = 90,
                             .scale_min = 0.5,
                             .scale_max = 2,
                             .color = 0.25,
                             .time_shift = 0.5,
                             .noise = 0.5};
  int flips = 0;
  std::array<int, 5> shifts{};
  double least_scale = 9;
  double largest_scale = 0;
  double largest_angle = 0;
  std::int64_t latest = 0;
  for (std::uint64_t row = 0; row < 400; ++row) {
    const Draws draws = draw(options, {1, 2, row});
    flips += (draws.flip_x ? 1 : 0) + (draws.flip_y ? 1 : 0);
    REQUIRE(std::abs(draws.shift_x) <= 2);
    REQUIRE(std::abs(draws.shift_y) <= 2);
    ++shifts[static_cast<std::size_t>(draws.shift_x + 2)];
    least_scale = std::min(least_scale, draws.scale);
    largest_scale = std::max(largest_scale, draws.scale);
    largest_angle = std::max(largest_angle, std::abs(draws.angle));
    for (const double factor : {draws.brightness, draws.contrast, draws.saturation}) {
      CHECK(std::abs(factor - 1) <= 0.25);
    }
    CHECK((draws.cut_x >= 0 && draws.cut_x < 1 && draws.cut_y >= 0 && draws.cut_y < 1));
    const SoundDraws sound = draw_sound(options, 10, {1, 2, row});
    latest = std::max(latest, std::abs(sound.shift));
    CHECK((sound.noise >= 0 && sound.noise <= 0.5));
  }
  CHECK(std::abs(flips - 400) < 100);  // of 800, five standard deviations are 71
  for (const int count : shifts) CHECK(std::abs(count - 80) < 40);
  CHECK((least_scale >= 0.5 && least_scale < 0.52 && largest_scale <= 2 && largest_scale > 1.98));
  CHECK((largest_angle <= 1.5708 && largest_angle > 1.55));
  CHECK(latest == 5);
  const Draws none = draw({}, {1, 2, 3});
  CHECK((!none.flip_x && !none.flip_y && none.shift_x == 0 && none.shift_y == 0));
  CHECK((none.angle == 0 && none.scale == 1 && none.brightness == 1 && none.saturation == 1));
  CHECK(draw_share(1e-12, {1, 2, 3}) >= 0);
}

TEST_CASE("pixels of several channels become planes and back, bytes are rounded and bounded") {
  const PlaneLayout last{.channels = 3, .height = 1, .width = 2, .channels_last = true};
  const PlaneLayout first{.channels = 3, .height = 1, .width = 2, .channels_last = false};
  CHECK(last.size() == 6);
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 255};
  CHECK(loaded(DType::uint8, last, pixels) == Floats{1, 4, 2, 5, 3, 255});
  CHECK(loaded(DType::uint8, first, pixels) == Floats{1, 2, 3, 4, 5, 255});
  CHECK(stored<std::uint8_t>(DType::uint8, last, {1, 4, 2, 5, 3, 255}) == pixels);
  CHECK(stored<std::uint8_t>(DType::uint8, first, {-3, 0.4F, 0.5F, 254.4F, 254.6F, 300}) ==
        std::vector<std::uint8_t>{0, 0, 1, 254, 255, 255});
  CHECK(stored<std::int16_t>(DType::int16, first, {-40000, -1.5F, 0.25F, 1.5F, 32767, 40000}) ==
        std::vector<std::int16_t>{-32768, -2, 0, 2, 32767, 32767});
  CHECK(loaded<std::int16_t>(DType::int16, last, {-1, 2, -3, 4, -5, 6}) ==
        Floats{-1, 4, 2, -5, -3, 6});
  CHECK(loaded<double>(DType::float64, last, {0.5, 2, 3, 4, 5, 6}) == Floats{0.5F, 4, 2, 5, 3, 6});
  CHECK(stored<double>(DType::float64, last, {0.5F, 4, 2, 5, 3, 6}) ==
        std::vector<double>{0.5, 2, 3, 4, 5, 6});
  CHECK(loaded<float>(DType::float32, last, {0.5F, 2, 3, 4, 5, 6}) == Floats{0.5F, 4, 2, 5, 3, 6});
  CHECK(stored<float>(DType::float32, last, {0.5F, 4, 2, 5, 3, 6}) == Floats{0.5F, 2, 3, 4, 5, 6});
  const Floats whole{1, 2, 3, 4, 5, 6};
  const auto halves = stored<float16>(DType::float16, first, whole);
  CHECK(to_float(halves[5]) == 6);
  CHECK(loaded(DType::float16, first, halves) == whole);
  const auto brains = stored<bfloat16>(DType::bfloat16, first, whole);
  CHECK(to_float(brains[5]) == 6);
  CHECK(loaded(DType::bfloat16, first, brains) == whole);
  CHECK(has_planes(DType::int16));
  CHECK_FALSE(has_planes(DType::int32));
}
