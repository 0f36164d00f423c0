// Depth and orientation of images as rows of a data set.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiff.h"

using namespace ondine;
using namespace ondine::test;
namespace fs = std::filesystem;

namespace {

template <class T>
std::vector<T> row_of(const Dataset& data, const PortInfo& input) {
  Feeder feeder(std::vector{input}, data);
  const std::vector<std::uint64_t> rows{0};
  const auto values = feeder.take(rows)[0].second.tensor().values<T>();
  return {values.begin(), values.end()};
}

void write(const fs::path& file, std::span<const std::uint8_t> bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("an image of 16 bits gives a floating point input all of them") {
  const TemporaryFolder folder;
  // The content tells the format.
  std::ofstream(folder / "a.png") << "P2 4 1 65535 0 1 300 65535";
  const Dataset data = Dataset::open(folder / "a.png");
  const auto x = row_of<float>(data, port("image", DType::float32, {-1, 1, 1, 4}));
  const std::vector<int> stored{0, 1, 300, 65535};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(x[i] == Approx(static_cast<double>(stored[i]) / 65535).epsilon(1e-6));
  }
  // 0 .. 255, rounded.
  CHECK(row_of<std::uint8_t>(data, port("image", DType::uint8, {-1, 1, 1, 4})) ==
        std::vector<std::uint8_t>{0, 0, 1, 255});
  const auto half = row_of<float>(data, port("image", DType::float32, {-1, 1, 1, 1}));
  CHECK(half[0] > 0);
  CHECK(half[0] < 1);
}

TEST_CASE("an image is upright in its row and in the size that it gives a model") {
  const TemporaryFolder folder;
  // 2 x 1 pixels, of which the left one is the upper one: turn to the right.
  Tiff tiff{.width = 2, .height = 1, .pixels = {1, 2, 3, 4, 5, 6}, .tags = {{274, 6}}};
  write(folder / "a.tif", bytes_of(tiff));
  const Dataset data = Dataset::open(folder / "a.tif");
  CHECK(row_of<std::uint8_t>(data, port("image", DType::uint8, {-1, -1, -1, 3})) ==
        std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6});
  CHECK(row_of<std::uint8_t>(data, port("image", DType::uint8, {-1, 2, 1, 3})) ==
        std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6});
}
