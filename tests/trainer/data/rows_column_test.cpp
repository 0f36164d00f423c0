// Rows that the caller makes, against the same rows as arrays.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <ondine/data.h>
#include <ondine/trainer.h>

#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t count = 12;

// The rows of line_data(count), one at a time.
struct Source {
  NamedValues arrays = line_data(count);
  std::uint64_t reads = 0;

  std::vector<RowColumn> columns() const {
    std::vector<RowColumn> result;
    for (const auto& [name, value] : arrays) {
      const auto dims = value.tensor().shape().span().subspan(1);
      result.push_back({name, value.tensor().dtype(), {dims.begin(), dims.end()}});
    }
    return result;
  }
  Dataset dataset() {
    return Dataset::from_rows(columns(), count, [this](std::uint64_t row, const Row& out) {
      ++reads;
      for (const auto& [name, value] : arrays) {
        const auto all = value.tensor().values<float>();
        const auto entry = out.values<float>(name);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(row * entry.size()), entry.size(),
                    entry.begin());
      }
    });
  }
};

}  // namespace

TEST_CASE("a run on rows that are read one by one ends with the bits of one on arrays") {
  Source source;
  const Dataset rows = source.dataset();
  CHECK(rows.rows() == count);
  CHECK(source.reads == 0);
  Model by_rows = line_model();
  Model by_arrays = line_model();
  const TrainerOptions options{.epochs = 3, .batch_size = 5, .validation_split = 0.25};
  Trainer(by_rows, options).fit(rows);
  Trainer(by_arrays, options).fit(Dataset::from(source.arrays));
  CHECK(same_state(by_rows, by_arrays));
}

TEST_CASE("the rows of a batch are read once for all columns") {
  Source source;
  const Dataset rows = source.dataset();
  for (const Batch& batch : rows.batches(4)) CHECK(batch.feeds().size() == 2);
  CHECK(source.reads == count);
}

TEST_CASE("unsigned bytes with two dims are pixels, whatever the first rows hold") {
  const Dataset rows = Dataset::from_rows(
      {{"image", DType::uint8, {2, 2}}}, 2, [](std::uint64_t row, const Row& out) {
        out.values<std::uint8_t>("image")[0] = static_cast<std::uint8_t>(row * 255);
      });
  PortInfo input;
  input.name = "image";
  input.dtype = DType::float32;
  input.type = "T";
  input.dims = std::vector<std::int64_t>{-1, 2, 2};
  for (const Batch& batch : rows.batches(2, {.shuffle = false, .inputs = {input}})) {
    CHECK(batch.feeds()[0].second.tensor().item<float>(0) == 0);
    CHECK(batch.feeds()[0].second.tensor().item<float>(4) == 1);
  }
}

TEST_CASE("what the caller throws and columns that make no sense are errors") {
  const auto none = [](std::uint64_t, const Row&) {};
  const auto said = [](std::vector<RowColumn> columns, RowReader read) {
    try {
      const Dataset rows = Dataset::from_rows(std::move(columns), 2, std::move(read));
      for (const Batch& batch : rows.batches(2)) static_cast<void>(batch);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const RowColumn x{"x", DType::float32, {}};
  CHECK(said({x}, none).empty());
  CHECK(said({}, none) == "rows need at least one column");
  CHECK(said({x, x}, none) == "column 'x' is there twice");
  CHECK(said({{"", DType::float32, {}}}, none) == "a column of rows has no name");
  CHECK(said({{"x", DType::string, {}}}, none) == "column 'x' needs an element type of numbers");
  CHECK(said({x}, {}) == "there is no function that reads rows");
  CHECK(said({x}, [](std::uint64_t, const Row& out) { static_cast<void>(out["y"]); }) ==
        "there is no column 'y'; columns are 'x'\n  in row 0 of the data");
  CHECK(said({x}, [](std::uint64_t, const Row&) { throw std::runtime_error("no signal"); }) ==
        "no signal");
}

TEST_CASE("more rows than an order of them in memory can have are refused") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  const auto none = [](std::uint64_t, const Row&) {};
  CHECK_THROWS_WITH(Dataset::from_rows({{"x", DType::float32, {}}}, most, none),
                    Catch::Contains("an order of rows"));
  CHECK_THROWS_WITH(shuffled(most / 8, 1, 0), Catch::Contains("an order of rows"));
}
