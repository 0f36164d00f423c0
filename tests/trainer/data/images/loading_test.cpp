// Images decoded by threads.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>

#include "tests/support/bitmap.h"
#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "trainer/data/batch_reader.h"
#include "trainer/data/files/file_index.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

// `count` images of 2x2 pixels in two classes; the red of all pixels of image i is i.
void write_images(const TemporaryFolder& folder, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const std::array<unsigned, 3> color{i, 0, 0};
    const std::string name = "a_"[i % 2] + std::string("/") + static_cast<char>('A' + i / 26) +
                             static_cast<char>('a' + i % 26) + ".bmp";
    write(folder / name, bitmap(2, 2, {color, color, color, color}));
  }
}

std::vector<PortInfo> inputs() {
  return {port("x", DType::uint8, {-1, 2, 2, 3}), port("y", DType::int64, {-1})};
}

// The first pixel's red and the label of all rows.
std::vector<std::pair<int, int>> read_all(Feeder& feeder, std::uint64_t size) {
  data::BatchOrder order;
  order.rows = shuffled(feeder.size(), 1, 0);
  order.size = size;
  data::BatchReader reader(feeder, order);
  std::vector<std::pair<int, int>> found;
  for (std::uint64_t i = 0; i < reader.batches(); ++i) {
    const auto batch = reader.next();
    const auto x = batch[0].second.tensor().values<std::uint8_t>();
    const auto y = batch[1].second.tensor().values<std::int64_t>();
    for (std::size_t row = 0; row < y.size(); ++row) {
      found.emplace_back(x[row * 12], static_cast<int>(y[row]));
    }
  }
  CHECK(reader.waited());
  return found;
}

}  // namespace

TEST_CASE("threads decode images in the order of the rows, however many there are") {
  const TemporaryFolder folder;
  write_images(folder, 50);
  for (const int threads : {1, 2, 5}) {
    const Dataset data = Dataset::open(folder.path(), {.threads = threads});
    Feeder feeder(inputs(), data);
    for (const std::uint64_t size : {1, 7, 64}) {
      const auto found = read_all(feeder, size);
      REQUIRE(found.size() == 50);
      // Classes are "_" and "a": the files of "_" come first.
      const std::vector<std::uint64_t> order = shuffled(50, 1, 0);
      for (std::size_t i = 0; i < 50; ++i) {
        const auto row = static_cast<int>(order[i]);
        CHECK(found[i].first == (row < 25 ? 2 * row + 1 : 2 * (row - 25)));
        CHECK(found[i].second == (row < 25 ? 0 : 1));
      }
    }
  }
}

TEST_CASE("a broken image is named when it is taken, and left out when asked") {
  const TemporaryFolder folder;
  write_images(folder, 20);
  write(folder / "a/Ab.bmp", "BM is all there is");
  write(folder / "a/Ba.bmp", "nothing");
  const Dataset all = Dataset::open(folder.path());
  CHECK(all.rows() == 22);
  Feeder feeder(inputs(), all);
  CHECK_THROWS_WITH(read_all(feeder, 8), Contains(".bmp"));

  const Dataset good = Dataset::open(folder.path(), {.skip_broken = true});
  CHECK(good.rows() == 20);
  REQUIRE(good.skipped().size() == 2);
  CHECK_THAT(good.skipped()[0], Contains("a/Ab.bmp: "));
  CHECK_THAT(good.skipped()[1], Contains("a/Ba.bmp: "));
  Feeder rest(inputs(), good);
  CHECK(read_all(rest, 8).size() == 20);
  CHECK_THAT(good.file(0), Contains("_/Ab.bmp"));
  CHECK(good.split(0.5).first.rows() == 10);
}

TEST_CASE("of several broken images the first of the order is named, with any number of threads") {
  const TemporaryFolder folder;
  write_images(folder, 12);
  for (const char* name : {"a/Aa.bmp", "a/Ac.bmp", "_/Ab.bmp", "_/Ad.bmp"}) {
    write(folder / name, "broken");
  }
  for (const int threads : {1, 3}) {
    const Dataset data = Dataset::open(folder.path(), {.threads = threads});
    Feeder feeder(inputs(), data);
    data::BatchOrder order{.rows = {5, 4, 7, 1, 6, 0}, .size = 6};
    data::BatchReader reader(feeder, order);
    CHECK_THROWS_WITH(reader.next(), Contains("a/Ac.bmp"));
  }
}

TEST_CASE("images of a list have the targets and the folder of the list") {
  const TemporaryFolder folder;
  write_images(folder, 6);
  write(folder / "train.csv", "file,kind\na/Aa.bmp,tulip\n_/Ab.bmp,rose\na/Ac.bmp,rose\n");
  write(folder / "test.csv", "kind,file\nrose,_/Ad.bmp\n");
  const std::vector<fs::path> both{folder / "train.csv", folder / "test.csv"};
  CHECK_THROWS_WITH(Dataset::open(both, {.target = "other"}), Contains("'other'"));
  const Dataset data = Dataset::open(both);
  CHECK(data.classes() == std::vector<std::string>{"rose", "tulip"});
  Feeder feeder(inputs(), data);
  auto found = read_all(feeder, 2);
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {2, 0}});
  CHECK(data.validation().rows() == 1);
  CHECK_THAT(data.validation().file(0), Contains("_/Ad.bmp"));
  // The model's own order.
  const Dataset given = Dataset::open(both, {.classes = {"tulip", "daisy", "rose"}});
  Feeder other(inputs(), given);
  found = read_all(other, 2);
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<std::pair<int, int>>{{0, 0}, {1, 2}, {2, 2}});
  CHECK_THROWS_WITH(Dataset::open(both, {.classes = {"tulip", "daisy"}}),
                    Contains("line 3") && Contains("'rose'"));
  write(folder / "test.csv", "file,kind\n_/Ad.bmp,rose\n_/Af.bmp,daisy\n");
  CHECK_THROWS_WITH(Dataset::open(both), Contains("line 3") && Contains("'daisy'"));
  write(folder / "test.csv", "file,kind\n_/Ad.bmp,rose\nnotes.txt,rose\n");
  CHECK_THROWS_WITH(Dataset::open(both), Contains("line 3") && Contains("notes.txt"));
}

TEST_CASE("raw images of any size have the size of the first, the others are refused by name") {
  const TemporaryFolder folder;
  const std::array<unsigned, 3> grey{9, 9, 9};
  write(folder / "1.bmp", bitmap(3, 2, {6, grey}));
  write(folder / "2.bmp", bitmap(2, 2, {4, grey}));
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.columns().size() == 1);
  Feeder feeder(std::vector{port("x", DType::uint8, {-1, -1, -1, 3})}, data);
  const std::vector<std::uint64_t> first{0};
  const std::vector<std::uint64_t> second{1};
  CHECK(feeder.take(first)[0].second.tensor().shape() == Shape{1, 2, 3, 3});
  CHECK_THROWS_WITH(feeder.take(second), Contains("2.bmp") && Contains("--image-size"));
}

TEST_CASE("the index of a million files takes less than 200 MB") {
  data::FileIndex index;
  constexpr std::uint64_t count = 1'000'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % 100'000 == 0) index.add_folder("/data/flowers/train/class" + std::to_string(i));
    index.add("ILSVRC2012_val_" + std::to_string(10'000'000 + i) + ".JPEG");
  }
  CHECK(index.size() == count);
  CHECK(index.path(123'456) == "/data/flowers/train/class100000/ILSVRC2012_val_10123456.JPEG");
  index.shrink();
  CHECK(index.bytes() < 40'000'000);
}
