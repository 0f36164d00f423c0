// Columns of weights: read, kept from the inputs, with a mean of 1 in each part.
#include "trainer/data/weights.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>

#include <ondine/data.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

DatasetOptions with_weights(const std::string& column) {
  DatasetOptions options;
  options.weights = column;
  return options;
}

std::vector<double> weights_of(const Dataset& data) {
  std::vector<double> result;
  for (const Batch& batch : data.batches(data.rows(), {.shuffle = false})) {
    for (const auto& [name, value] : batch.feeds()) {
      if (name != data.weights()) continue;
      const auto numbers = value.tensor().values<double>();
      result.assign(numbers.begin(), numbers.end());
    }
  }
  return result;
}

std::string refusal(const std::filesystem::path& file, const DatasetOptions& options) {
  try {
    Dataset::open(file, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a column of weights is neither feature nor target and has the mean 1") {
  const TemporaryFolder folder;
  write(folder / "t.csv", "a,w,b,y\n1,3,2,0\n3,0,4,1\n5,1,6,1\n7,4,8,0\n");
  const Dataset data = Dataset::open(folder / "t.csv", with_weights("w"));
  CHECK(data.weights() == "w");
  CHECK(data.target() == "y");
  CHECK(data.table()->features == std::vector<std::string>{"a", "b"});
  CHECK(weights_of(data) == std::vector<double>{1.5, 0, 0.5, 2});
  CHECK(data.notes().empty());
  CHECK(Dataset::open(folder / "t.csv").weights().empty());
}

TEST_CASE("the last column may hold the weights; the target is the one before") {
  const TemporaryFolder folder;
  write(folder / "t.csv", "a,y,w\n1,0,3\n3,1,1\n");
  const Dataset data = Dataset::open(folder / "t.csv", with_weights("w"));
  CHECK(data.target() == "y");
  CHECK(data.table()->features == std::vector<std::string>{"a"});
}

TEST_CASE("weights have the mean 1 in each part of the data") {
  const TemporaryFolder folder;
  write(folder / "train.csv", "a,y,w\n1,0,3\n3,1,1\n");
  write(folder / "val.csv", "a,y,w\n1,0,10\n3,1,10\n4,1,40\n");
  const std::vector<std::filesystem::path> files{folder / "train.csv", folder / "val.csv"};
  const Dataset data = Dataset::open(files, with_weights("w"));
  CHECK(weights_of(data.train()) == std::vector<double>{1.5, 0.5});
  CHECK(weights_of(data.validation()) == std::vector<double>{0.5, 0.5, 2});
  const Dataset rows = Dataset::from({{"x", Tensor::of<float>({4}, {1, 2, 3, 4})},
                                      {"w", Tensor::of<std::int64_t>({4, 1}, {1, 2, 3, 4})}},
                                     {}, with_weights("w"));
  for (const auto& [first, second] : rows.folds(2)) {
    for (const Dataset* part : {&first, &second}) {
      const std::vector<double> weights = weights_of(*part);
      CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == Approx(2));
    }
  }
}

TEST_CASE("texts and lists of files have weights too") {
  const TemporaryFolder folder;
  write(folder / "t.jsonl",
        "{\"text\": \"a\", \"label\": \"x\", \"w\": 1}\n"
        "{\"w\": 3, \"text\": \"b\", \"label\": \"y\"}\n");
  CHECK(weights_of(Dataset::open(folder / "t.jsonl", with_weights("w"))) ==
        std::vector<double>{0.5, 1.5});
  write(folder / "t.csv", "w,text,label\n1,a,x\n3,b,y\n");
  CHECK(weights_of(Dataset::open(folder / "t.csv", with_weights("w"))) ==
        std::vector<double>{0.5, 1.5});
  write(folder / "list.csv", "w,image,label\n1,a.png,x\n3,b.png,y\n");
  const Dataset list = Dataset::open(folder / "list.csv", with_weights("w"));
  CHECK(list.weights() == "w");
  CHECK(list.target() == "label");
  write(folder / "bad.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n");
  CHECK_THAT(refusal(folder / "bad.jsonl", with_weights("w")),
             Contains("line 1, column 'w': the weight is missing"));
}

TEST_CASE("what is no weight is refused by file, line and column") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& value) {
    write(folder / "t.csv", "a,w,y\n1,1,0\n2," + value + ",1\n");
    return refusal(folder / "t.csv", with_weights("w"));
  };
  for (const char* bad : {"-1", "inf", "-0.5", "x"}) {
    CHECK_THAT(said(bad), Contains("line 3, column 'w': '" + std::string(bad) + "' is no weight") &&
                              Contains("t.csv"));
  }
  for (const char* none : {"", "nan", "NA"}) {
    CHECK_THAT(said(none), Contains("line 3, column 'w': the weight is missing"));
  }
  write(folder / "t.csv", "a,w,y\n1,0,0\n2,0,1\n");
  CHECK_THAT(refusal(folder / "t.csv", with_weights("w")),
             Contains("the weights of 2 rows (column 'w') are all 0"));
  CHECK_THAT(refusal(folder / "t.csv", with_weights("v")),
             Contains("there is no column 'v' (--weight-column); the file has: 'a', 'w', 'y'"));
  DatasetOptions same = with_weights("y");
  same.target = "y";
  CHECK_THAT(refusal(folder / "t.csv", same),
             Contains("column 'y' is the target, it cannot hold the weights"));
  DatasetOptions options = with_weights("a");
  options.features = {"a", "w"};
  CHECK_THAT(refusal(folder / "t.csv", options), Contains("column 'a' is a feature"));
  options = with_weights("w");
  options.drop = {"w"};
  CHECK_THAT(refusal(folder / "t.csv", options), Contains("column 'w' holds the weights of rows"));
}

TEST_CASE("arrays of other than one number for each row are no weights") {
  const NamedValues arrays{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                           {"w", Tensor::of<float>({2}, {1, -1})},
                           {"s", Tensor::of<float>({1}, {1})}};
  const auto said = [&](const std::string& name) {
    try {
      Dataset::from(arrays, {}, with_weights(name));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(said("x"), Contains("holds no weight for each of the 2 rows"));
  CHECK_THAT(said("s"), Contains("holds no weight for each of the 2 rows"));
  CHECK_THAT(said("w"), Contains("row 1 of column 'w': -1 is no weight"));
  CHECK_THAT(said("v"), Contains("there is no column 'v' of weights") && Contains("'x', 'w', 's'"));
}

TEST_CASE("data for inference need no weights, and where they are optional none are read") {
  const TemporaryFolder folder;
  write(folder / "t.csv", "a,y\n1,0\n3,1\n");
  DatasetOptions options = with_weights("w");
  options.use = DataUse::inference;
  CHECK(Dataset::open(folder / "t.csv", options).weights().empty());
  options.use = DataUse::evaluation;
  CHECK_THROWS_AS(Dataset::open(folder / "t.csv", options), Error);
  options.weights_are_optional = true;
  CHECK(Dataset::open(folder / "t.csv", options).weights().empty());
}
