// Random numbers of rows: which ones there are, and that no two uses share one.
#include "trainer/data/augment/draws.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <catch2/catch.hpp>

using namespace ondine;
using namespace ondine::data;

namespace {

// Seven numbers in [0, 1) that make up what happens to an image.
std::vector<double> uniforms_of(const RowKey& key) {
  const Augmentation options{
      .rotate = 90, .scale_min = 1, .scale_max = 2, .color = 0.5, .noise = 1};
  const Draws draws = draw(options, key);
  return {draws.angle / std::numbers::pi + 0.5,
          draws.scale - 1,
          draws.brightness - 0.5,
          draws.contrast - 0.5,
          draws.saturation - 0.5,
          draws.cut_x,
          draws.cut_y};
}

}  // namespace

TEST_CASE("no random number of an image is one of another row, another use or another epoch") {
  std::vector<double> all;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint64_t row = 0; row < 200; ++row) {
      for (const double one : uniforms_of({7, epoch, row})) {
        CHECK((one > -1e-12 && one < 1));
        all.push_back(one);
      }
    }
  }
  std::sort(all.begin(), all.end());
  // Numbers of 32 bits that differ are 2e-10 apart.
  for (std::size_t i = 1; i < all.size(); ++i) REQUIRE(all[i] - all[i - 1] > 1e-11);
  CHECK(uniforms_of({7, 0, 3}) == uniforms_of({7, 0, 3}));
  CHECK(uniforms_of({7, 0, 3}) != uniforms_of({8, 0, 3}));
}

TEST_CASE("noise is standard normal, and differs between rows, groups and epochs") {
  using Group = std::array<float, noise_group>;
  std::vector<Group> row(40);
  draw_noise({1, 0, 0}, 0, row);
  double sum = 0;
  double squares = 0;
  std::vector<float> all;
  for (const RowKey& key : {RowKey{1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {2, 0, 0}}) {
    draw_noise(key, 0, row);
    for (const Group& group : row) all.insert(all.end(), group.begin(), group.end());
  }
  for (const float one : all) {
    sum += static_cast<double>(one);
    squares += static_cast<double>(one) * static_cast<double>(one);
  }
  const auto count = static_cast<double>(all.size());
  CHECK(std::abs(sum / count) < 5 / std::sqrt(count));
  CHECK(std::abs(squares / count - 1) < 5 * std::sqrt(2 / count));
  // The groups of a row follow each other, however many are drawn at once.
  draw_noise({1, 0, 5}, 0, row);
  std::vector<Group> part(7);
  draw_noise({1, 0, 5}, 30, part);
  CHECK(std::equal(part.begin(), part.end(), row.begin() + 30));
  std::vector<std::vector<float>> groups;
  for (std::uint64_t r = 0; r < 5; ++r) {
    draw_noise({1, 0, r}, 0, row);
    for (const Group& group : row) groups.emplace_back(group.begin(), group.end());
  }
  std::sort(groups.begin(), groups.end());
  CHECK(std::adjacent_find(groups.begin(), groups.end()) == groups.end());
}

TEST_CASE("a recording moves by up to the samples of its seconds, and has up to its noise") {
  const Augmentation options{.time_shift = 0.3, .noise = 0.25};
  std::int64_t earliest = 0;
  std::int64_t latest = 0;
  double least = 1;
  double most = 0;
  double mean = 0;
  std::vector<double> levels;
  for (std::uint64_t row = 0; row < 500; ++row) {
    const SoundDraws draws = draw_sound(options, 10, {3, 1, row});
    earliest = std::min(earliest, draws.shift);
    latest = std::max(latest, draws.shift);
    least = std::min(least, draws.noise);
    most = std::max(most, draws.noise);
    mean += draws.noise / 500;
    levels.push_back(draws.noise);
  }
  CHECK(earliest == -3);
  CHECK(latest == 3);
  CHECK((least >= 0 && least < 0.005 && most > 0.245 && most < 0.25));
  CHECK(std::abs(mean - 0.125) < 5 * 0.25 / std::sqrt(12.0 * 500));
  std::sort(levels.begin(), levels.end());
  CHECK(std::adjacent_find(levels.begin(), levels.end()) == levels.end());
  CHECK(draw_sound({.noise = 1}, 16000, {3, 1, 2}).shift == 0);
}

TEST_CASE("partners are any row, and shares follow Beta(alpha, alpha)") {
  std::vector<int> counts(5);
  for (std::uint64_t row = 0; row < 1000; ++row) ++counts[draw_partner({1, 2, row}, 5)];
  for (const int count : counts) CHECK(std::abs(count - 200) < 64);  // five standard deviations
  for (const double alpha : {0.2, 0.5, 1.0, 2.0, 8.0}) {
    CAPTURE(alpha);
    constexpr int rows = 4000;
    double mean = 0;
    double squares = 0;
    double cubes = 0;
    std::vector<double> shares;
    for (std::uint64_t row = 0; row < rows; ++row) {
      const double share = draw_share(alpha, {1, 2, row});
      REQUIRE((share >= 0 && share <= 1));
      shares.push_back(share);
      const double off = share - 0.5;
      mean += off / rows;
      squares += off * off / rows;
      cubes += off * off * off / rows;
    }
    // Variance 1 / (4 (2 alpha + 1)), excess -6 / (2 alpha + 3), and symmetry.
    const double variance = 0.25 / (2 * alpha + 1);
    const double fourth = variance * variance * (3 - 6 / (2 * alpha + 3));
    CHECK(std::abs(mean) < 5 * std::sqrt(variance / rows));
    CHECK(std::abs(squares - variance) <
          5 * std::sqrt((fourth - variance * variance) / rows) + 1e-12);
    CHECK(std::abs(cubes) < 5 * std::sqrt(0.25 * fourth / rows));
    // The two gamma variates of a row are drawn from numbers of their own.
    std::sort(shares.begin(), shares.end());
    if (alpha >= 0.5) CHECK(std::adjacent_find(shares.begin(), shares.end()) == shares.end());
  }
}
