// All rows in their order, as inference takes them.
#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>
#include <thread>

#include <ondine/all_rows.h>
#include <ondine/data.h>

#include "tests/support/bitmap.h"
#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

Dataset numbers(std::int64_t rows) {
  Tensor x(DType::float32, {rows, 2});
  std::iota(x.mutable_values<float>().begin(), x.mutable_values<float>().end(), 0.0F);
  return Dataset::from({{"x", x}});
}

Feeder feeder_of(const Dataset& data, std::int64_t batch) {
  const std::vector<PortInfo> inputs{port("x", DType::float32, {batch, 2})};
  return {inputs, data};
}

}  // namespace

TEST_CASE("all rows come in their order, the last batch as long as what is left") {
  Feeder feeder = feeder_of(numbers(7), -1);
  std::vector<std::uint64_t> all;
  std::vector<std::int64_t> sizes;
  for_all_rows(feeder, 3, [&](auto feeds, auto rows) {
    all.insert(all.end(), rows.begin(), rows.end());
    const Tensor& x = feeds[0].second.tensor();
    sizes.push_back(x.shape()[0]);
    CHECK(x.values<float>()[0] == 2 * static_cast<float>(rows[0]));
  });
  CHECK(all == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(sizes == std::vector<std::int64_t>{3, 3, 1});
  CHECK_THROWS_AS(for_all_rows(feeder, 0, [](auto, auto) {}), Error);
}

TEST_CASE("the last row fills up a batch of fixed size and is no row of it then") {
  Feeder feeder = feeder_of(numbers(5), 4);
  std::vector<std::uint64_t> all;
  std::vector<float> last;
  for_all_rows(feeder, 32, [&](auto feeds, auto rows) {
    all.insert(all.end(), rows.begin(), rows.end());
    const auto x = feeds[0].second.tensor().template values<float>();
    last.assign(x.begin(), x.end());
  });
  CHECK(all == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(last == std::vector<float>{8, 9, 8, 9, 8, 9, 8, 9});
}

TEST_CASE("pictures of their own sizes are decoded ahead of time, each a batch") {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> files;
  for (std::uint32_t i = 1; i <= 9; ++i) {
    files.push_back(folder / (std::to_string(i) + ".bmp"));
    const std::vector<std::array<unsigned, 3>> pixels(i * (i + 1), {i, i, i});
    write(files.back(), bitmap(i, i + 1, pixels));
  }
  DatasetOptions options;
  options.use = DataUse::inference;
  options.inner_resize = InnerResize{{4, 4}, false};
  for (const int threads : {1, 3}) {
    options.threads = threads;
    const Dataset data = Dataset::open(files, options);
    const std::vector<PortInfo> inputs{port("x", DType::uint8, {-1, 3, -1, -1})};
    Feeder feeder(inputs, data);
    REQUIRE(feeder.has_own_sizes());
    const auto caller = std::this_thread::get_id();
    std::uint64_t row = 0;
    for_all_rows(feeder, 32, [&](auto feeds, auto rows) {
      CHECK(std::this_thread::get_id() == caller);
      REQUIRE(rows.size() == 1);
      CHECK(rows[0] == row);
      const auto size = static_cast<std::int64_t>(++row);
      const Tensor& x = feeds[0].second.tensor();
      CHECK(x.shape() == Shape{1, 3, size + 1, size});
      CHECK(x.values<std::uint8_t>()[0] == size);
    });
    CHECK(row == 9);
  }
}
