#include <catch2/catch.hpp>

#include <ondine/data.h>
#include <ondine/dataset.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/finetune/sample_data.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::vector<std::int64_t> first_mask(const Dataset& data, std::int64_t side) {
  const PortInfo label{"label", "", DType::int64, std::vector<std::int64_t>{-1, side, side}, false};
  BatchOptions options;
  options.shuffle = false;
  options.inputs = {label};
  options.map = {{"label", "mask"}};
  for (const Batch& batch : data.batches(1, options)) {
    const auto values = batch.feeds()[0].second.tensor().values<std::int64_t>();
    return {values.begin(), values.end()};
  }
  return {};
}

void write_pair(const std::filesystem::path& folder, const std::string& name,
                const std::vector<unsigned>& mask) {
  std::vector<std::array<unsigned, 3>> pixels;
  for (const unsigned one : mask) pixels.push_back({one, one, one});
  write_file(folder / "images" / (name + ".bmp"), bitmap(2, 2, pixels));
  write_file(folder / "masks" / (name + ".bmp"), bitmap(2, 2, pixels));
}

}  // namespace

TEST_CASE("masks give the class of each pixel by its grey value") {
  const TemporaryFolder folder;
  write_pair(folder.path(), "a", {0, 1, 2, 1});
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.rows() == 1);
  CHECK(data.target() == "mask");
  CHECK(data.classes() == std::vector<std::string>{"0", "1", "2"});
  CHECK(first_mask(data, 2) == std::vector<std::int64_t>{0, 1, 2, 1});
  // Enlarged to the nearest pixel, never between two classes.
  CHECK(first_mask(data, 4) ==
        std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1});
}

TEST_CASE("white is a class of black and white masks and does not count in others") {
  const TemporaryFolder folder;
  write_pair(folder / "bw", "a", {0, 255, 255, 0});
  const Dataset black_and_white = Dataset::open(folder / "bw");
  CHECK(first_mask(black_and_white, 2) == std::vector<std::int64_t>{0, 1, 1, 0});
  REQUIRE(black_and_white.notes().size() == 1);
  CHECK_THAT(black_and_white.notes()[0], Contains("white is class 1"));
  write_pair(folder / "voc", "a", {0, 1, 2, 255});
  const Dataset others = Dataset::open(folder / "voc");
  CHECK(others.classes().size() == 3);
  CHECK(first_mask(others, 2) == std::vector<std::int64_t>{0, 1, 2, 255});
  CHECK_THAT(others.notes().at(0), Contains("255") && Contains("do not count"));
}

TEST_CASE("folders for training and validation have masks of their own") {
  const TemporaryFolder folder;
  write_pair(folder / "train", "a", {0, 1, 1, 0});
  write_pair(folder / "val", "b", {0, 2, 1, 0});
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.classes().size() == 3);
  REQUIRE(data.has_validation());
  CHECK(first_mask(data.validation(), 2) == std::vector<std::int64_t>{0, 2, 1, 0});
}

TEST_CASE("pictures without a partner and masks with colours are named") {
  const TemporaryFolder folder;
  write_pair(folder.path(), "a", {0, 1, 1, 0});
  write_file(folder / "images/b.bmp", bitmap(1, 1, {{1, 1, 1}}));
  CHECK_THROWS_WITH(Dataset::open(folder.path()), Contains("b.bmp") && Contains("no mask"));
  // Inference reads no masks.
  CHECK(Dataset::open(folder.path(), {.use = DataUse::inference}).rows() == 2);
  write_file(folder / "masks/b.bmp", bitmap(1, 1, {{1, 2, 1}}));
  CHECK_THROWS_WITH(Dataset::open(folder.path()), Contains("b.bmp") && Contains("colours"));
  std::filesystem::remove(folder / "images/b.bmp");
  CHECK_THROWS_WITH(Dataset::open(folder.path()), Contains("b.bmp") && Contains("no image"));
  std::filesystem::remove(folder / "masks/b.bmp");
  CHECK_THROWS_WITH(Dataset::open(folder.path(), {.classes = {"none"}}), Contains("class 1"));
}

TEST_CASE("an image whose mask has another form is refused, another resolution is not") {
  const TemporaryFolder folder;
  const std::vector<std::array<unsigned, 3>> image(32, {7, 7, 7});
  const auto take = [&] {
    PortInfo input;
    input.name = "image";
    input.type = "tensor(float)";
    input.dtype = DType::float32;
    input.dims = std::vector<std::int64_t>{-1, 3, 2, 2};
    const Dataset data = Dataset::open(folder.path());
    for (const Batch& batch : data.batches(1, {.inputs = {input}}))
      CHECK(batch.feeds().size() == 1);
  };
  write_file(folder / "images/a.bmp", bitmap(8, 4, image));
  write_file(folder / "masks/a.bmp", bitmap(4, 2, {8, {1, 1, 1}}));
  take();
  write_file(folder / "masks/a.bmp", bitmap(4, 8, std::vector<std::array<unsigned, 3>>(32)));
  CHECK_THROWS_WITH(take(), Contains("a.bmp") && Contains("which is another form"));
}

TEST_CASE("masks of an evaluation have their own sizes where the model takes any") {
  const TemporaryFolder folder;
  write_file(folder / "images/a.bmp", bitmap(2, 1, {{1, 1, 1}, {2, 2, 2}}));
  write_file(folder / "masks/a.bmp", bitmap(2, 1, {{0, 0, 0}, {1, 1, 1}}));
  write_file(folder / "images/b.bmp", bitmap(1, 3, {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}));
  write_file(folder / "masks/b.bmp", bitmap(1, 3, {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}}));
  const Dataset data = Dataset::open(folder.path(), {.use = DataUse::evaluation});
  const PortInfo label{"label", "", DType::int64, std::vector<std::int64_t>{-1, -1, -1}, false};
  Feeder feeder(std::vector{label}, data, {{"label", "mask"}});
  const std::uint64_t second = 1;
  const auto feeds = feeder.take(std::span(&second, 1));
  CHECK(feeds[0].second.tensor().shape() == Shape{1, 3, 1});
  CHECK(feeds[0].second.tensor().values<std::int64_t>()[2] == 2);
}
