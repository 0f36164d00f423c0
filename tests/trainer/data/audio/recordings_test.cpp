// Recordings as rows of samples.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

#include <ondine/data.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wave.h"
#include "trainer/data/audio/resample.h"
#include "trainer/data/audio/sound_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Dims = std::vector<std::int64_t>;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

// Optional libraries may be left out of a build.
bool can_read() {
  const TemporaryFolder folder;
  write(folder / "a.wav", wave(8000, {1}));
  write(folder / "b.wav", wave(4000, {1, 2}));
  try {
    data::sound_info((folder / "a.wav").string());
    data::resample({1, 2}, 4000, 8000, 4);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    WARN("skipped: " << error.what());
    return false;
  }
}

std::vector<float> samples_of(const Dataset& data, std::int64_t length) {
  Feeder feeder(std::vector{port("x", DType::float32, {-1, length})}, data);
  std::vector<std::uint64_t> rows(feeder.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  const auto values = feeder.take(rows)[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

// `seconds` of a tone.
std::vector<int> tone(std::uint32_t rate, double frequency, double seconds) {
  std::vector<int> samples(static_cast<std::size_t>(seconds * rate));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / rate;
    samples[i] =
        static_cast<int>(std::lround(16000 * std::sin(2 * std::numbers::pi * frequency * t)));
  }
  return samples;
}

}  // namespace

TEST_CASE("recordings in folders are rows of samples, padded or cut to the model's length") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "no/1.wav", wave(8000, {100, -200, 300, -32768, 32767}));
  write(folder / "yes/1.wav", wave(8000, {16384, 8192}));
  // Two channels become their mean.
  write(folder / "yes/2.wav", wave(8000, {100, 300, -100, 100, 16384, 0}, 2));
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.rows() == 3);
  CHECK(data.sample_rate() == 8000);
  CHECK(data.notes().empty());
  CHECK(data.classes() == std::vector<std::string>{"no", "yes"});
  CHECK_THAT(data.file(1), Contains("yes/1.wav"));
  const auto all = samples_of(data, 4);
  const float scale = 32768;
  CHECK(all == std::vector<float>{100 / scale, -200 / scale, 300 / scale, -1, 0.5F, 0.25F, 0, 0,
                                  200 / scale, 0, 0.25F, 0});
  // In 16 bits as they are in the file; one channel may have an axis.
  Feeder raw(std::vector{port("x", DType::int16, {-1, 1, 5}), port("y", DType::int64, {-1})}, data);
  const std::vector<std::uint64_t> rows{0, 2};
  const auto batch = raw.take(rows);
  const auto x = batch[0].second.tensor().values<std::int16_t>();
  CHECK(std::vector<int>(x.begin(), x.end()) ==
        std::vector<int>{100, -200, 300, -32768, 32767, 200, 0, 8192, 0, 0});
  const auto y = batch[1].second.tensor().values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(y.begin(), y.end()) == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("a model that leaves the length open needs it in seconds") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "1.wav", wave(1000, std::vector<int>(500, 1)));
  write(folder / "2.wav", wave(1000, std::vector<int>(1250, 1)));
  const std::vector inputs{port("x", DType::float32, {-1, -1})};
  CHECK_THROWS_WITH(Feeder(inputs, Dataset::open(folder.path())),
                    Contains("1.25 seconds") && Contains("--audio-seconds"));
  const Dataset data = Dataset::open(folder.path(), {.audio = {.seconds = 0.75}});
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> row{0};
  CHECK(feeder.take(row)[0].second.tensor().shape() == Shape{1, 750});
  CHECK_THROWS_WITH(Feeder(std::vector{port("x", DType::float32, {-1, 700})}, data),
                    Contains("750 samples"));
}

TEST_CASE("recordings at another rate are resampled and counted, or refused by name") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "a/1.wav", wave(8000, tone(8000, 440, 0.5)));
  write(folder / "a/2.wav", wave(22050, tone(22050, 440, 0.5)));
  write(folder / "b/1.wav", wave(4000, tone(4000, 440, 0.5)));
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.sample_rate() == 8000);
  REQUIRE(data.notes().size() == 1);
  CHECK_THAT(data.notes()[0], Contains("2 of 3 recordings") && Contains("8000") &&
                                  Contains("a/2.wav") && Contains("22050"));
  constexpr std::int64_t length = 4000;
  const auto all = samples_of(data, length);
  // Recordings of all rates hold the same tone, except near their ends.
  for (std::int64_t i = 200; i < length - 200; ++i) {
    const double t = static_cast<double>(i) / 8000;
    const double expected = 16000.0 / 32768 * std::sin(2 * std::numbers::pi * 440 * t);
    for (const std::int64_t row : {0, 1, 2}) {
      const auto found = static_cast<double>(all[static_cast<std::size_t>(row * length + i)]);
      if (std::abs(found - expected) > 2e-3) FAIL("row " << row << ", sample " << i);
    }
  }
  CHECK_THROWS_WITH(Dataset::open(folder.path(), {.audio = {.resample = false}}),
                    Contains("a/2.wav") && Contains("22050"));
  CHECK(Dataset::open(folder.path(), {.audio = {.rate = 16000}}).sample_rate() == 16000);
  // The first samples do not depend on how many are taken.
  const auto some = samples_of(data, 1000);
  CHECK(std::equal(some.begin() + 1000, some.begin() + 1900, all.begin() + length));
}

TEST_CASE("validation recordings have the rate of the training data") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "train/a/1.wav", wave(8000, {1, 2}));
  write(folder / "val/a/1.wav", wave(16000, {1, 2, 3, 4}));
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.validation().sample_rate() == 8000);
  CHECK(data.validation().notes().size() == 1);
}

TEST_CASE("broken recordings are named, and left out when asked") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "a/1.wav", wave(8000, {1, 2}));
  const std::string cut = wave(8000, std::vector<int>(100, 7)).substr(0, 80);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write(folder / "a/2.wav", cut);
  write(folder / "a/3.wav", "no recording");
  write(folder / "a/4.wav", float_wave(8000, {0.5F, nan}));
  write(folder / "a/5.wav", wave(8000, {}));
  fs::create_directories(folder / "a/6.wav");
  const Dataset all = Dataset::open(folder.path());
  CHECK(all.rows() == 6);
  Feeder feeder(std::vector{port("x", DType::float32, {-1, 2})}, all);
  for (std::uint64_t row = 1; row < 6; ++row) {
    const std::vector<std::uint64_t> one{row};
    CHECK_THROWS_WITH(feeder.take(one), Contains("a/" + std::to_string(row + 1) + ".wav"));
  }
  const Dataset good = Dataset::open(folder.path(), {.skip_broken = true});
  CHECK(good.rows() == 1);
  REQUIRE(good.skipped().size() == 5);
  CHECK_THAT(good.skipped()[0], Contains("a/2.wav: ") && Contains("244"));
  CHECK_THAT(good.skipped()[2], Contains("sample 2 is not finite"));
  CHECK_THAT(good.skipped()[3], Contains("no samples"));
}

TEST_CASE("FLAC files have the samples that were encoded") {
  if (!can_read()) return;
  // 40 samples k * 7919 % 2000 - 1000 at 8000 Hz, by libFLAC.
  const std::string hex =
      "664c6143800000221000100000002300002301f400f0000000286242d58b766dea38fc90830b16658896fff86408"
      "00"
      "271614fc1803970e879f8010003e1f0f87e87a01e7e004008001f0f8a3b5";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  const TemporaryFolder folder;
  write(folder / "1.flac", bytes);
  const auto samples = samples_of(Dataset::open(folder.path()), 40);
  for (int k = 0; k < 40; ++k) {
    CHECK(samples[static_cast<std::size_t>(k)] ==
          static_cast<float>(k * 7919 % 2000 - 1000) / 32768);
  }
  write(folder / "1.flac", bytes.substr(0, 60));
  CHECK_THROWS_WITH(samples_of(Dataset::open(folder.path()), 40), Contains("1.flac"));
}

TEST_CASE("recordings of a list have the targets and the folder of the list") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "sounds/1.wav", wave(8000, {3277}));
  write(folder / "sounds/2.wav", wave(8000, {-3277}));
  write(folder / "train.csv", "path,word\nsounds/2.wav,two\nsounds/1.wav,one\n");
  const Dataset data = Dataset::open(folder / "train.csv");
  CHECK(data.classes() == std::vector<std::string>{"one", "two"});
  CHECK(samples_of(data, 2) == std::vector<float>{-3277.0F / 32768, 0, 3277.0F / 32768, 0});
  write(folder / "train.csv", "path,word\nsounds/2.wav,two\nsounds/1.txt,one\n");
  CHECK_THROWS_WITH(Dataset::open(folder / "train.csv"),
                    Contains("line 3") && Contains("no recording file"));
}

TEST_CASE("batches of recordings are the same with any number of threads") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  for (int i = 0; i < 30; ++i) {
    write(folder / (std::to_string(10 + i) + ".wav"), wave(i % 2 == 0 ? 8000 : 6000, {i, i, i, i}));
  }
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 4}) {
    const Dataset data = Dataset::open(folder.path(), {.threads = threads});
    found.emplace_back();
    const BatchOptions options{.seed = 3, .inputs = {port("x", DType::float32, {-1, 3})}};
    for (const Batch& batch : data.batches(7, options)) {
      const auto values = batch.feeds()[0].second.tensor().values<float>();
      found.back().insert(found.back().end(), values.begin(), values.end());
    }
    CHECK(found.back().size() == 90);
  }
  CHECK(found[0] == found[1]);
}

TEST_CASE("the rate and the length that options ask for have bounds") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "1.wav", wave(8000, {1, 2, 3}));
  const auto open = [&](const AudioOptions& audio) {
    return Dataset::open(folder.path(), {.audio = audio});
  };
  CHECK_THROWS_WITH(open({.rate = -1}), Contains("a rate of -1 samples"));
  CHECK_THROWS_WITH(open({.rate = 10'000'001}), Contains("a rate of 10000001 samples"));
  CHECK(open({.rate = 10'000'000}).sample_rate() == 10'000'000);
  CHECK(open({.rate = 1}).sample_rate() == 1);
  CHECK(open({.rate = 0}).sample_rate() == 8000);
  for (const double seconds : {-0.5, 1e6, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_WITH(open({.seconds = seconds}), Contains("recordings of "));
  }
  CHECK(open({.seconds = 999'999}).columns()[0].dims == Dims{-1, 7'999'992'000});
  // To the nearest sample; without a length it is open.
  CHECK(open({.seconds = 2.49 / 8000}).columns()[0].dims == Dims{-1, 2});
  CHECK(open({.seconds = 2.51 / 8000}).columns()[0].dims == Dims{-1, 3});
  CHECK(open({}).columns()[0].dims == Dims{-1, -1});
}

TEST_CASE("one channel may have an axis on either side of the samples") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "1.wav", wave(8000, {3277, -3277, 6554}));
  const Dataset data = Dataset::open(folder.path());
  const auto fits = [&](const Dims& dims, DType dtype = DType::float32) {
    const std::vector inputs{port("x", dtype, dims)};
    try {
      Feeder feeder(inputs, data);
      const std::vector<std::uint64_t> row{0};
      return feeder.take(row)[0].second.tensor().dtype() == dtype;
    } catch (const Error&) {
      return false;
    }
  };
  for (const Dims& dims :
       {Dims{-1, 3}, Dims{-1, 1, 3}, Dims{-1, 3, 1}, Dims{-1, 1, 1}, Dims{1, 2}}) {
    CAPTURE(dims);
    CHECK(fits(dims));
  }
  for (const Dims& dims : {Dims{-1}, Dims{-1, 3, 2}, Dims{-1, 2, 3}, Dims{-1, 1, 3, 1}, Dims{-1, 0},
                           Dims{-1, -1, 2}}) {
    CAPTURE(dims);
    CHECK_FALSE(fits(dims));
  }
  for (const DType dtype : {DType::float64, DType::float16, DType::bfloat16, DType::int16}) {
    CAPTURE(dtype);
    CHECK(fits({-1, 3}, dtype));
  }
  for (const DType dtype : {DType::int32, DType::uint8, DType::int64, DType::string}) {
    CAPTURE(dtype);
    CHECK_FALSE(fits({-1, 3}, dtype));
  }
  // The length that options give must be the model's.
  const Dataset timed = Dataset::open(folder.path(), {.audio = {.seconds = 2.0 / 8000}});
  CHECK_NOTHROW(Feeder(std::vector{port("x", DType::float32, {-1, 2, 1})}, timed));
  CHECK_NOTHROW(Feeder(std::vector{port("x", DType::float32, {-1, -1, 1})}, timed));
  CHECK_THROWS_WITH(Feeder(std::vector{port("x", DType::float32, {-1, 3, 1})}, timed),
                    Contains("2 samples"));
}

TEST_CASE("a recording has the bytes that its header promises, if the writer knew how many") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  const std::string whole = wave(8000, {1, 2, 3});
  const auto opened = [&](std::uint32_t promised, std::size_t more = 0) {
    std::string bytes = whole + std::string(more, '\0');
    for (std::size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<char>(promised >> 8 * i);
    write(folder / "1.wav", bytes);
    return data::sound_info((folder / "1.wav").string()).frames == 3;
  };
  const auto size = static_cast<std::uint32_t>(whole.size());
  CHECK(opened(size - 8));
  CHECK(opened(size - 8, 4));
  CHECK_THROWS_WITH(opened(size - 7),
                    Contains("the file has " + std::to_string(size) + " bytes, its header says " +
                             std::to_string(size + 1)));
  CHECK_THROWS_WITH(opened(0x7fffeffe), Contains("its header says 2147479558"));
  CHECK(opened(0x7fffffff));
  CHECK(opened(0xffffffff));
}

TEST_CASE("the rate of recordings is that of the first that can be read") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  write(folder / "1.wav", "no recording");
  write(folder / "2.wav", wave(4000, {1, 2}));
  write(folder / "3.wav", wave(8000, {1, 2}));
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.sample_rate() == 4000);
  REQUIRE(data.notes().size() == 1);
  CHECK_THAT(data.notes()[0], Contains("1 of 3 recordings") && Contains("3.wav"));
}

namespace {

void put(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

TEST_CASE("a rate that no recording has is refused, as an option is") {
  if (!can_read()) return;
  const TemporaryFolder folder;
  std::string bytes = wave(8000, {1, 2, 3});
  put(bytes, 24, 0x7fffffff);
  write(folder / "a/1.wav", bytes);
  CHECK_THROWS_WITH(Dataset::open(folder.path()),
                    Contains("1.wav") && Contains("2147483647") && Contains("more than 10000000"));
  CHECK_THROWS_WITH(data::samples_before(100, 10'000'000, 8000), Contains("cannot resample"));
}

TEST_CASE("a streamed WAV file is read as far as it goes") {
  if (!can_read()) return;
  const std::string whole = wave(8000, {16384, -8192, 4096, 1});
  constexpr std::size_t riff_at = 4;
  constexpr std::size_t data_at = 40;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes{
      {0, 0},          {0xffffffff, 0xffffffff}, {0xffffffff, 0},          {36, 0},
      {0, 0xffffffff}, {0x7ffff024, 0x7ffff000}, {0x7fffffff, 0x7fffffdb}, {8, 0},
  };
  for (const auto& [riff, data] : sizes) {
    CAPTURE(riff, data);
    const TemporaryFolder folder;
    std::string bytes = whole;
    put(bytes, riff_at, riff);
    put(bytes, data_at, data);
    write(folder / "a.wav", bytes);
    const auto all = samples_of(Dataset::open(folder / "a.wav"), 5);
    CHECK(all == std::vector<float>{0.5F, -0.25F, 0.125F, 1 / 32768.0F, 0});
  }
  // Other sizes are believed.
  const TemporaryFolder folder;
  std::string bytes = whole;
  put(bytes, data_at, 4);
  write(folder / "short.wav", bytes);
  CHECK(samples_of(Dataset::open(folder / "short.wav"), 3) == std::vector<float>{0.5F, -0.25F, 0});
  put(bytes, data_at, 100);
  write(folder / "long.wav", bytes);
  CHECK_THROWS_WITH(samples_of(Dataset::open(folder / "long.wav"), 3),
                    Contains("long.wav") && Contains("its header says 144"));
}
