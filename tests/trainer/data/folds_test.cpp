#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include <ondine/data.h>

using namespace ondine;
using Catch::Contains;

namespace {

// Row i is x = i with a label; labels are of different numbers.
Dataset numbered(std::int64_t rows) {
  Tensor x(DType::int64, {rows});
  Tensor label(DType::int64, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    x.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = 1000 + i;
    label.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i % 10 < 7 ? 0 : i % 2 + 1;
  }
  Tensor wide(DType::float32, {rows, 2});
  return Dataset::from({{"label", label}, {"wide", wide}, {"x", x}});
}

std::vector<std::int64_t> column(const Dataset& data, const std::string& name) {
  std::vector<std::int64_t> result;
  for (const Batch& batch : data.batches(7, {.shuffle = false})) {
    for (const auto& [key, value] : batch.feeds()) {
      if (key != name) continue;
      const auto numbers = value.tensor().values<std::int64_t>();
      result.insert(result.end(), numbers.begin(), numbers.end());
    }
  }
  return result;
}

}  // namespace

TEST_CASE("each row is in one fold, and the other rows are its training rows") {
  const Dataset data = numbered(53);
  std::multiset<std::int64_t> seen;
  const auto folds = data.folds(5, 3);
  REQUIRE(folds.size() == 5);
  for (const auto& [training, fold] : folds) {
    const std::vector<std::int64_t> in = column(fold, "x");
    const std::vector<std::int64_t> others = column(training, "x");
    CHECK((in.size() == 10 || in.size() == 11));
    CHECK(in.size() + others.size() == 53);
    CHECK(std::is_sorted(in.begin(), in.end()));
    seen.insert(in.begin(), in.end());
    for (const std::int64_t one : in) CHECK(std::count(others.begin(), others.end(), one) == 0);
  }
  CHECK(seen.size() == 53);
  CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 53);
}

TEST_CASE("folds follow from the seed alone") {
  const Dataset data = numbered(40);
  CHECK(column(data.folds(4, 1)[2].second, "x") == column(data.folds(4, 1)[2].second, "x"));
  CHECK(column(data.folds(4, 1)[2].second, "x") != column(data.folds(4, 2)[2].second, "x"));
}

TEST_CASE("folds of a column of classes have as many rows of each, to within one") {
  Tensor label(DType::int64, {50});
  for (std::size_t i = 0; i < 50; ++i) {
    label.mutable_values<std::int64_t>()[i] = i < 33 ? 0 : i < 46 ? 1 : 2;
  }
  const Dataset data = Dataset::from({{"x", Tensor(DType::float32, {50, 2})}, {"label", label}});
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> bounds{
      {0, {8, 9}}, {1, {3, 4}}, {2, {1, 1}}};
  for (const auto& [training, fold] : data.folds(4, 9)) {
    const std::vector<std::int64_t> labels = column(fold, "label");
    for (const auto& [one, range] : bounds) {
      const auto count = std::count(labels.begin(), labels.end(), one);
      CHECK(count >= range.first);
      CHECK(count <= range.second);
    }
  }
}

TEST_CASE("one fold, and more folds than rows, are refused") {
  const Dataset data = numbered(5);
  CHECK_THROWS_WITH(data.folds(1), Contains("needs 2 folds or more"));
  CHECK_THROWS_WITH(data.folds(6), Contains("found 6 folds of 5 rows"));
  CHECK(data.folds(5).size() == 5);
}
