// Training, validation and test data, by the names of files, folders and arrays.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/bitmap.h"
#include "tests/support/temporary_folder.h"
#include "trainer/data/array_splits.h"

namespace ondine::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using Names = std::vector<std::string>;

struct Files {
  fs::path write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  // Files with so many rows.
  Dataset open(const std::vector<std::pair<std::string, int>>& files,
               const std::string& kind) const {
    std::vector<fs::path> places;
    for (const auto& [name, rows] : files) {
      std::string text = kind == ".jsonl" || kind == ".txt" ? "" : "text,y\n";
      if (kind == "numbers.csv") text = "a,y\n";
      for (int i = 0; i < rows; ++i) {
        if (kind == ".jsonl") text += "{\"text\":\"a\",\"label\":0}\n";
        if (kind == ".txt") text += "ab";
        if (kind == ".csv") text += "hello,0\n";
        if (kind == "numbers.csv") text += "1,0\n";
        if (kind == "list.csv") text += "1.bmp,0\n";
      }
      if (kind == ".txt") text += "c";
      const std::string extension = kind.substr(kind.find('.'));
      places.push_back(write(name + extension, text));
    }
    DatasetOptions options;
    options.text.length = 2;
    return Dataset::open(places, options);
  }

  TemporaryFolder folder;
};

data::ArrayParts split(const std::vector<std::pair<std::string, std::int64_t>>& arrays) {
  std::vector<data::NamedArray> named;
  for (const auto& [name, rows] : arrays) {
    std::string cut = name;
    const data::Split split = data::cut_split(cut);
    named.push_back({name, cut, split, "f.npz", Tensor(DType::float32, {rows})});
  }
  return data::split_arrays(std::move(named));
}

Names names(const NamedValues& arrays) {
  Names result;
  for (const auto& one : arrays) result.push_back(one.first);
  return result;
}

}  // namespace

TEST_CASE("of files for training, validation and test the last are left out with a note") {
  const Files files;
  files.write("1.bmp", bitmap(1, 1, {{1, 2, 3}}));
  for (const std::string kind : {"numbers.csv", "list.csv", ".csv", ".jsonl", ".txt"}) {
    CAPTURE(kind);
    const Dataset three = files.open({{"train", 3}, {"val", 2}, {"test", 5}}, kind);
    CHECK(three.rows() == 3);
    CHECK(three.validation().rows() == 2);
    for (const Dataset& part : {three, three.validation()}) {
      REQUIRE(part.notes().size() == 1);
      CHECK_THAT(part.notes()[0], Contains("test.") && Contains("is left out: test data"));
    }
    const Dataset two = files.open({{"a", 3}, {"b_test", 2}}, kind);
    CHECK(two.rows() == 3);
    CHECK(two.validation().rows() == 2);
    CHECK(two.notes().empty());
    const Dataset one = files.open({{"test_results", 4}}, kind);
    CHECK(one.rows() == 4);
    CHECK_FALSE(one.has_validation());
    const Dataset untrained = files.open({{"x_val", 4}, {"x_test", 1}}, kind);
    CHECK(untrained.rows() == 0);
    CHECK(untrained.validation().rows() == 4);
    CHECK(untrained.validation().notes().size() == 1);
  }
}

TEST_CASE("a folder has folders for training, validation and test, each with the classes") {
  const Files files;
  const std::string image = bitmap(1, 1, {{1, 2, 3}});
  for (const char* name : {"train/cat/1.bmp", "train/cat/2.bmp", "train/dog/1.bmp", "val/cat/1.bmp",
                           "val/dog/1.bmp", "test/dog/1.bmp"}) {
    files.write(name, image);
  }
  const Dataset data = Dataset::open(files.folder.path());
  CHECK(data.rows() == 3);
  CHECK(data.validation().rows() == 2);
  REQUIRE(data.notes().size() == 1);
  CHECK_THAT(data.notes()[0], Contains("test") && Contains("left out"));
  fs::remove_all(files.folder / "val");
  CHECK(Dataset::open(files.folder.path()).validation().rows() == 1);
}

TEST_CASE(
    "arrays named for training, validation and test are three parts, of which one is left out") {
  const auto three = split({{"train_images", 5},
                            {"train_labels", 5},
                            {"val_images", 2},
                            {"val_labels", 2},
                            {"test_images", 3},
                            {"test_labels", 3}});
  CHECK(names(three.splits.train) == Names{"images", "labels"});
  CHECK(three.splits.train[0].second.tensor().shape() == Shape{5});
  CHECK(three.splits.validation[0].second.tensor().shape() == Shape{2});
  CHECK(three.note ==
        "'test_images', 'test_labels' are left out: test data, beside data for validation");
  const auto two = split({{"x", 5}, {"y", 5}, {"x_test", 5}, {"y_test", 5}});
  CHECK(names(two.splits.train) == Names{"x", "y"});
  CHECK(names(two.splits.validation) == Names{"x", "y"});
  CHECK(two.note.empty());
  CHECK(names(split({{"x_test", 5}, {"y_test", 5}}).splits.train) == Names{"x", "y"});
}

TEST_CASE("a word in the name of a file is for all of its arrays") {
  const auto of_file = [](const std::string& file, data::Split split,
                          std::initializer_list<const char*> arrays) {
    std::vector<data::NamedArray> named;
    for (const char* name : arrays) {
      named.push_back({name, name, split, file, Tensor(DType::float32, {4})});
    }
    return named;
  };
  std::vector<data::NamedArray> arrays = of_file("a.npz", data::Split::unknown, {"x", "y"});
  for (const auto& more : {of_file("val.npz", data::Split::validation, {"x", "z"}),
                           of_file("test.npz", data::Split::test, {"u", "v"})}) {
    arrays.insert(arrays.end(), more.begin(), more.end());
  }
  const auto parts = data::split_arrays(arrays);
  CHECK(names(parts.splits.train) == Names{"x", "y"});
  CHECK(names(parts.splits.validation) == Names{"x", "z"});
  CHECK(parts.note == "'test.npz' is left out: test data, beside data for validation");
}

TEST_CASE("a word for a part belongs to the name of an array that no other part has") {
  CHECK(names(split({{"x", 6}, {"test_score", 6}}).splits.train) == Names{"x", "test_score"});
  CHECK(names(split({{"x", 6}, {"is_valid", 6}, {"test_score", 6}}).splits.train) ==
        Names{"x", "is_valid", "test_score"});
  // With other rows it is data of its own, and so it is where a name says train.
  CHECK(names(split({{"x", 6}, {"test_data", 2}}).splits.validation) == Names{"data"});
  CHECK(names(split({{"train_x", 6}, {"test_data", 6}}).splits.validation) == Names{"data"});
  CHECK_THROWS_WITH(split({{"x_test", 1}, {"test_x", 1}, {"train_y", 1}}),
                    Contains("two arrays are named 'x'; the second is in 'f.npz'"));
}

}  // namespace ondine::test
