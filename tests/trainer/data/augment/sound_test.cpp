// Random changes of training recordings.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/support/port.h"
#include "trainer/data/augment/augmenter.h"
#include "trainer/data/augment/sound.h"
#include "trainer/data/column.h"

using namespace ondine;
using namespace ondine::data;
using Catch::Contains;

namespace {

std::vector<float> changed(const Augmentation& options, const RowKey& key, std::size_t count) {
  std::vector<float> samples(count);
  std::iota(samples.begin(), samples.end(), 1.0F);
  change_sound(samples, 100, options, key);
  return samples;
}

// Rows of samples at 100 a second.
class SoundColumn final : public Column {
 public:
  SoundColumn() : Column("audio") {}
  std::uint64_t rows() const override { return 3; }
  PortInfo port() const override { return test::port("audio", DType::float32, {-1, 8}); }
  std::string describe() const override { return "recordings[3]"; }
  std::optional<Dims> fit(const PortInfo&) const override { return Dims{8}; }
  void copy(std::span<const std::uint64_t> rows, const RowType&, std::byte* to) const override {
    auto* samples = reinterpret_cast<float*>(to);
    for (const std::uint64_t row : rows) samples = std::fill_n(samples, 8, 1.0F + float(row));
  }
  std::int64_t sample_rate() const override { return 100; }
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }
};

}  // namespace

TEST_CASE("recordings move by whole samples either way, and zeros come in") {
  bool later = false;
  bool earlier = false;
  for (std::uint64_t row = 0; row < 50; ++row) {
    const auto samples = changed({.time_shift = 0.03}, {1, 2, row}, 10);
    const auto shift = draw_sound({.time_shift = 0.03}, 100, {1, 2, row}).shift;
    REQUIRE(std::abs(shift) <= 3);
    for (std::int64_t i = 0; i < 10; ++i) {
      const std::int64_t from = i - shift;
      CHECK(samples[static_cast<std::size_t>(i)] ==
            (from < 0 || from >= 10 ? 0.0F : static_cast<float>(from + 1)));
    }
    later = later || shift == 3;
    earlier = earlier || shift == -3;
  }
  CHECK(later);
  CHECK(earlier);
  // A shift by more than the whole recording leaves silence.
  const auto gone = changed({.time_shift = 100}, {1, 2, 0}, 4);
  CHECK(std::count(gone.begin(), gone.end(), 0.0F) == 4);
}

TEST_CASE("noise is white, its power a part of the recording's, other for each row and epoch") {
  constexpr std::size_t count = 40'001;
  const Augmentation options{.noise = 0.5};
  const RowKey key{7, 1, 3};
  std::vector<float> samples(count, 2.0F);
  change_sound(samples, 8000, options, key);
  const double level = draw_sound(options, 8000, key).noise;
  CHECK(level > 0);
  CHECK(level < 0.5);
  double sum = 0;
  double squares = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = static_cast<double>(samples[i]) - 2;
    sum += noise;
    squares += noise * noise;
    if (i > 0) neighbours += noise * (static_cast<double>(samples[i - 1]) - 2);
  }
  const double deviation = std::sqrt(squares / count);
  CHECK(deviation == Approx(2 * level).epsilon(0.02));
  CHECK(std::abs(sum / count) < 0.02 * deviation);
  CHECK(std::abs(neighbours / squares) < 0.02);
  CHECK(changed(options, key, 9) == changed(options, key, 9));
  CHECK(changed(options, key, 9) != changed(options, {7, 2, 3}, 9));
  CHECK(changed(options, key, 9) != changed(options, {7, 1, 4}, 9));
  CHECK(changed(options, key, 9) != changed(options, {8, 1, 3}, 9));
}

TEST_CASE("samples take the normal numbers of their row one after the other") {
  const Augmentation options{.noise = 0.5};
  const RowKey key{7, 1, 3};
  const double level = draw_sound(options, 8000, key).noise;
  for (const std::size_t count : {1U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 3000U}) {
    INFO(count);
    std::vector<float> samples(count);
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      samples[i] = static_cast<float>(i % 11) - 4;
      squares += static_cast<double>(samples[i]) * static_cast<double>(samples[i]);
    }
    const auto deviation =
        static_cast<float>(level * std::sqrt(squares / static_cast<double>(count)));
    std::vector<float> expected = samples;
    for (std::size_t i = 0; i < count; ++i) {
      std::array<std::array<float, noise_group>, 1> normals;
      draw_noise(key, i / noise_group, normals);
      expected[i] += deviation * normals[0][i % noise_group];
    }
    change_sound(samples, 8000, options, key);
    for (std::size_t i = 0; i < count; ++i) {
      if (samples[i] != Approx(expected[i]).margin(1e-6)) CHECK(samples[i] == expected[i]);
    }
  }
  // Rows and epochs share no numbers.
  std::array<std::array<float, noise_group>, 4> numbers;
  draw_noise({7, 1, 3}, 0, std::span(numbers).first(1));
  draw_noise({7, 1, 3}, 1, std::span(numbers).subspan(1, 1));
  draw_noise({7, 1, 4}, 0, std::span(numbers).subspan(2, 1));
  draw_noise({7, 2, 3}, 0, std::span(numbers).subspan(3, 1));
  std::vector<float> all;
  for (const auto& group : numbers) all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("changes of sound need recordings, those of images images") {
  const std::vector<std::string> inputs{"x"};
  const std::vector<std::uint64_t> rows{0, 1, 2};
  const std::vector<RowSource> sound{{"x", std::make_shared<SoundColumn>(), {DType::float32, {8}}}};
  const std::vector<RowSource> table{
      {"x",
       array_column("x", Tensor(DType::float32, {3, 8}), Layout::nchw),
       {DType::float32, {8}}}};
  CHECK_THROWS_WITH(Augmenter({.noise = 0.1}, 1, table, inputs, rows), Contains("recordings"));
  CHECK_THROWS_WITH(Augmenter({.flip = true}, 1, sound, inputs, rows), Contains("images"));
  CHECK_THROWS_WITH(Augmenter({.noise = -1}, 1, sound, inputs, rows), Contains("noise"));
  CHECK_THROWS_WITH(Augmenter({.time_shift = -1}, 1, sound, inputs, rows), Contains("time-shift"));
  const Augmenter augmenter({.noise = 0.1}, 1, sound, inputs, rows);
  std::vector<float> row(8, 1.0F);
  std::byte* entry = reinterpret_cast<std::byte*>(row.data());
  augmenter.change(0, 1, std::span(&entry, 1));
  std::vector<float> expected(8, 1.0F);
  change_sound(expected, 100, {.noise = 0.1}, {1, 0, 1});
  CHECK(row == expected);
  // Mixing alone takes recordings too.
  const Augmenter mixer({.mixup = 1}, 1, sound, inputs, rows);
  row.assign(8, 1.0F);
  mixer.change(0, 0, std::span(&entry, 1));
  CHECK(row[0] >= 1.0F);
  CHECK(row[0] <= 3.0F);
  CHECK(std::count(row.begin(), row.end(), row[0]) == 8);
}
