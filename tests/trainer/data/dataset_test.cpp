#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>

#include <ondine/data.h>

#include "tests/support/bitmap.h"
#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

Tensor counting(const Shape& shape) {
  Tensor tensor(DType::float32, shape);
  float next = 0;
  for (float& value : tensor.mutable_values<float>()) value = next++;
  return tensor;
}

bool fits(std::vector<std::int64_t> wanted, const Shape& stored) {
  wanted.insert(wanted.begin(), -1);
  Shape shape{2};
  for (const std::int64_t dim : stored) shape.push_back(dim);
  try {
    Feeder(std::vector{port("x", DType::float32, wanted)}, {{"x", Tensor(DType::float32, shape)}});
    return true;
  } catch (const Error&) {
    return false;
  }
}

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

std::vector<float> taken(const Dataset& data, const PortInfo& input, std::uint64_t row) {
  Feeder feeder(std::vector{input}, data);
  const std::vector<std::uint64_t> rows{row};
  const auto values = feeder.take(rows)[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a row fits an input by its layout, not by its number of elements") {
  CHECK(fits({28, 28}, {28, 28}));
  CHECK(fits({1, 28, 28}, {28, 28}));
  CHECK(fits({784}, {28, 28}));
  CHECK(fits({1, 28, 28}, {784}));
  CHECK(fits({28, 28}, {28, 28, 1}));
  CHECK(fits({}, {1}));
  CHECK(fits({1}, {}));
  CHECK(fits({3, 1024}, {3, 32, 32}));
  CHECK(fits({-1, 28}, {784}));
  CHECK_FALSE(fits({3, 32, 32}, {32, 32, 3}));
  CHECK_FALSE(fits({28, 14}, {14, 28}));
  CHECK_FALSE(fits({6, 4}, {4, 6}));
  CHECK_FALSE(fits({785}, {28, 28}));
  CHECK_FALSE(fits({-1, -1, 2}, {8, 2}));
}

TEST_CASE("channels last are transposed when asked, and refused by the name of the option else") {
  const Tensor x = counting({2, 2, 3, 3});  // [N, H, W, C]
  const PortInfo input = port("x", DType::float32, {-1, 3, 2, 3});
  CHECK_THROWS_WITH(Feeder(std::vector{input}, {{"x", x}}), Contains("--layout nhwc"));
  const Dataset data = Dataset::from({{"x", x}}, {}, {.layout = Layout::nhwc});
  const std::vector<float> row = taken(data, input, 1);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t p = 0; p < 6; ++p) CHECK(row[c * 6 + p] == static_cast<float>(18 + 3 * p + c));
  }
}

TEST_CASE("arrays of different length are no data for one model") {
  const std::vector<PortInfo> inputs{port("x", DType::float32, {-1, 2}),
                                     port("y", DType::float32, {-1, 3})};
  CHECK_THROWS_WITH(Feeder(inputs, {{"x", counting({4, 2})}, {"y", counting({5, 3})}}),
                    Contains("'x' has 4 rows") && Contains("'y' has 5"));
}

TEST_CASE("a shuffle leaves elements in place as often as chance predicts") {
  // A uniform permutation of 4 keeps each element in a quarter of all draws.
  std::map<std::vector<std::uint64_t>, int> seen;
  for (std::uint64_t seed = 0; seed < 4800; ++seed) ++seen[shuffled(4, seed, 0)];
  REQUIRE(seen.size() == 24);
  for (const auto& [order, count] : seen) CHECK((count > 130 && count < 270));  // 200 +- 5 sigma
}

TEST_CASE("a split keeps each class's share, is disjoint and depends on the seed alone") {
  const std::int64_t rows = 100;
  Tensor label(DType::int64, {rows});
  auto labels = label.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i < 70 ? 5 : i < 90 ? -1 : 2;
  const Dataset data = Dataset::from({{"x", counting({rows, 1})}, {"label", label}});
  const auto rows_of = [](const Dataset& part) {
    std::vector<int> result;
    for (const Batch& batch : part.batches(7, {.shuffle = false})) {
      for (const float x : batch.feeds()[0].second.tensor().values<float>()) {
        result.push_back(static_cast<int>(x));
      }
    }
    return result;
  };
  const auto [first, second] = data.split(0.2, 1);
  CHECK(first.rows() == 80);
  CHECK(second.rows() == 20);
  const std::vector<int> a = rows_of(first);
  const std::vector<int> b = rows_of(second);
  std::vector<int> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 100; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
  CHECK(std::count_if(b.begin(), b.end(), [](int i) { return i < 70; }) == 14);
  CHECK(std::count_if(b.begin(), b.end(), [](int i) { return i >= 70 && i < 90; }) == 4);
  CHECK(std::is_sorted(a.begin(), a.end()));
  CHECK(rows_of(data.split(0.2, 1).second) == b);
  CHECK(rows_of(data.split(0.2, 2).second) != b);
  CHECK(first.split(0.5, 1).second.rows() == 40);
  for (const double wrong : {0.0, 1.0, -0.1, 0.999}) CHECK_THROWS_AS(data.split(wrong, 1), Error);
}

TEST_CASE("batches are shuffled rows, the last one shorter unless the inputs fix their size") {
  const Dataset data = Dataset::from({{"x", counting({10, 1})}});
  std::vector<std::uint64_t> rows;
  std::vector<std::size_t> sizes;
  for (const Batch& batch : data.batches(4, {.seed = 3, .epoch = 1})) {
    sizes.push_back(batch.rows().size());
    const auto x = batch.feeds()[0].second.tensor().values<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(x[i] == static_cast<float>(batch.rows()[i]));
      rows.push_back(batch.rows()[i]);
    }
  }
  CHECK(rows == shuffled(10, 3, 1));
  CHECK(sizes == std::vector<std::size_t>{4, 4, 2});
  BatchOptions fixed;
  fixed.inputs = {port("x", DType::float64, {4, 1})};
  CHECK(data.batches(4, fixed).count() == 2);
  CHECK_THROWS_WITH(data.batches(5, fixed), Contains("4"));
  CHECK_THROWS_AS(data.batches(0), Error);
}

TEST_CASE("a folder of images per class is decoded to the size and layout of the input") {
  const TemporaryFolder folder;
  const std::array<unsigned, 3> red{255, 0, 0};
  const std::array<unsigned, 3> blue{0, 0, 51};
  write(folder / "red/b.bmp", bitmap(2, 2, {red, red, red, red}));
  write(folder / "blue/a.bmp", bitmap(4, 2, {red, blue, blue, red, red, blue, blue, red}));
  write(folder / "blue/notes.txt", "no image");
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.classes() == std::vector<std::string>{"blue", "red"});
  CHECK(data.rows() == 2);
  const PortInfo rgb = port("x", DType::float32, {-1, 3, 2, 2});
  CHECK(taken(data, rgb, 1) == std::vector<float>{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  // The centre of the wide image is blue; stretched, each pixel is the mean of two with a triangle
  // filter of radius 2: weights 1/8, 3/8, 3/8, 1/8 but for what lies outside.
  const std::vector<float> cut = taken(data, rgb, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(cut[i] == 0);
    CHECK(cut[8 + i] == Approx(0.2));
  }
  const Dataset wide = Dataset::open(folder.path(), {.image_fit = ImageFit::stretch});
  CHECK(taken(wide, rgb, 0)[0] == Approx(3.0 / 7));
  const std::vector<float> last = taken(data, port("x", DType::float32, {-1, 2, 2, 3}), 1);
  CHECK(std::vector<float>(last.begin(), last.begin() + 3) == std::vector<float>{1, 0, 0});
  CHECK(taken(data, port("x", DType::float32, {-1, 1, 2, 2}), 1)[0] == Approx(0.299));
  const PortInfo open = port("x", DType::float32, {-1, 3, -1, -1});
  CHECK_THROWS_WITH(taken(data, open, 0), Contains("--image-size"));
  CHECK(taken(Dataset::open(folder.path(), {.image_size = ImageSize{5, 7}}), open, 0).size() ==
        105);
  write(folder / "red/c.bmp", "BM is all there is");
  CHECK_THROWS_WITH(taken(Dataset::open(folder.path()), rgb, 2), Contains("c.bmp"));
  fs::create_directories(folder / "yellow");
  CHECK_THROWS_WITH(Dataset::open(folder.path()), Contains("'yellow'"));
}

TEST_CASE("folders named train and val hold the two parts, with the classes of the first") {
  const TemporaryFolder folder;
  const std::string image = bitmap(1, 1, {{1, 2, 3}});
  for (const char* name : {"train/a/1.bmp", "train/b/1.bmp", "val/b/2.bmp"}) {
    write(folder / name, image);
  }
  const Dataset data = Dataset::open(folder.path());
  CHECK(data.rows() == 2);
  CHECK(data.validation().rows() == 1);
  Feeder labels(std::vector{port("label", DType::int64, {-1})}, data.validation());
  const std::vector<std::uint64_t> row{0};
  CHECK(labels.take(row)[0].second.tensor().item<std::int64_t>() == 1);
  write(folder / "val/c/1.bmp", image);
  CHECK_THROWS_WITH(Dataset::open(folder.path()), Contains("'c'"));
}

TEST_CASE("classes that are given decide the labels and what folders may be named") {
  const TemporaryFolder folder;
  const std::string image = bitmap(1, 1, {{1, 2, 3}});
  for (const char* name : {"train/a/1.bmp", "train/b/1.bmp", "train/.hidden/1.bmp"}) {
    write(folder / name, image);
  }
  const auto labels = [&](const DatasetOptions& options) {
    const Dataset data = Dataset::open(folder.path(), options);
    Feeder feeder(std::vector{port("label", DType::int64, {-1})}, data);
    const std::vector<std::uint64_t> rows{0, 1};
    const Tensor taken = feeder.take(rows)[0].second.tensor();
    const auto values = taken.values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  CHECK(labels({}) == std::vector<std::int64_t>{0, 1});
  CHECK(labels({.classes = {"b", "c", "a"}}) == std::vector<std::int64_t>{2, 0});
  CHECK_THROWS_WITH(labels({.classes = {"a", "c"}}),
                    Contains("class 'b'") && Contains("none of the model's classes"));
  write(folder / "val/c/1.bmp", image);
  CHECK_THROWS_WITH(labels({}), Contains("class 'c'") && Contains("none of the training data"));
  CHECK(labels({.classes = {"c", "b", "a"}}) == std::vector<std::int64_t>{2, 1});
  write(folder / "Training/a/1.bmp", image);
  CHECK_THROWS_WITH(
      labels({}), Contains("'Training'") && Contains("'train'") && Contains("both the same part"));
}

TEST_CASE("folders named for one part alone, and images of one folder, are data too") {
  const TemporaryFolder folder;
  const std::string image = bitmap(1, 1, {{255, 255, 255}});
  const std::string dark = bitmap(1, 1, {{0, 0, 0}});
  write(folder / "test/a/1.bmp", image);
  const Dataset part = Dataset::open(folder.path());
  CHECK(part.rows() == 1);
  CHECK_FALSE(part.has_validation());
  write(folder / "loose/2.BMP", image);
  write(folder / "loose/1.bmp", dark);
  write(folder / "loose/notes.txt", "no image");
  const PortInfo gray = port("x", DType::float32, {-1, 1, 1, 1});
  const Dataset loose = Dataset::open(folder / "loose");
  CHECK(loose.rows() == 2);
  CHECK(taken(loose, gray, 0)[0] == 0);
  CHECK(taken(loose, gray, 1)[0] == Approx(1));
  const std::vector<fs::path> files{folder / "loose/2.BMP", folder / "loose/1.bmp"};
  const Dataset listed = Dataset::open(files);
  CHECK(listed.rows() == 2);
  CHECK(taken(listed, gray, 0)[0] == Approx(1));
}

TEST_CASE("a CSV gives features and a target of numbers or class names") {
  const TemporaryFolder folder;
  write(folder / "a.csv", "a,\"the, \"\"kind\"\"\",b\r\n1,dog,2.5\r\n-3e1,\"cat\",4\n\n5,dog,6");
  const Dataset data = Dataset::open(folder / "a.csv", {.target = "the, \"kind\""});
  CHECK(data.classes() == std::vector<std::string>{"cat", "dog"});
  std::vector<float> features;
  std::vector<std::int64_t> labels;
  BatchOptions options;
  options.shuffle = false;
  options.inputs = {port("x", DType::float32, {-1, 2}), port("y", DType::int64, {-1})};
  for (const Batch& batch : data.batches(2, options)) {
    const auto x = batch.feeds()[0].second.tensor().values<float>();
    const auto y = batch.feeds()[1].second.tensor().values<std::int64_t>();
    features.insert(features.end(), x.begin(), x.end());
    labels.insert(labels.end(), y.begin(), y.end());
  }
  CHECK(features == std::vector<float>{1, 2.5F, -30, 4, 5, 6});
  CHECK(labels == std::vector<std::int64_t>{1, 0, 1});

  write(folder / "b.csv", "a,b\n1,2\n,4\n");
  CHECK_THROWS_WITH(Dataset::open(folder / "b.csv"),
                    Contains("b.csv") && Contains("line 3") && Contains("'a'"));
  const Dataset filled = Dataset::open(folder / "b.csv", {.fill = -1.5});
  CHECK(taken(filled, port("features", DType::float32, {-1, 1}), 1)[0] == -1.5F);
  CHECK(taken(filled, port("b", DType::float32, {-1, 1}), 1)[0] == 4);
}

TEST_CASE("a CSV that breaks a rule is refused with its line") {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::string& text, const std::string& message,
                          const DatasetOptions& options = {}) {
    write(folder / "t.csv", text);
    INFO(text);
    CHECK_THROWS_WITH(Dataset::open(folder / "t.csv", options),
                      Contains("t.csv") && Contains(message));
  };
  refuse("a,b\n1,2\n3\n", "line 3 has 1 fields");
  refuse("a,b\n1,2\n3,4,5\n", "line 3 has 3 fields");
  refuse("a,b\n\"1\n1\",2\n", "is not a number");
  refuse("a,b\nx,2\n", "line 2, column 'a': 'x'");
  refuse("a,b\n1x,2\n", "'1x'");
  refuse("a,b\n1,\n", "the target is missing");
  refuse("a,b\n1,\"2\n", "no end");
  refuse("a,b\n\"1\"2,3\n", "line 2: text follows");
  refuse("a,a\n1,2\n", "one name");
  refuse("a\n1\n", "it has 1");
  refuse("a,b\n", "no rows");
  refuse("a,b\n1,2\n", "'c'", {.target = "c"});
  write(folder / "train.csv", "a,b\n1,x\n2,y\n");
  write(folder / "test.csv", "a,b\n1,x\n2,z\n");
  const std::vector<fs::path> both{folder / "train.csv", folder / "test.csv"};
  CHECK_THROWS_WITH(Dataset::open(both),
                    Contains("test.csv") && Contains("line 3") && Contains("'z'"));
}
