#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>
#include <ondine/table.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr const char* homes =
    "rooms,city,age,target\n"
    "1,Ulm,10,1\n"
    "NA,Rom,20,2\n"
    "4,,NA,3\n"
    "7,Ulm,60,4\n";

class Tables {
 public:
  std::filesystem::path write(const std::string& text) const {
    std::ofstream(folder_.path() / "t.csv", std::ios::binary) << text;
    return folder_.path() / "t.csv";
  }
  Dataset open(const TableOptions& options, const std::string& text = homes) const {
    DatasetOptions how;
    how.raw = raw_table(options);
    return Dataset::open(write(text), how);
  }
  TablePlan plan(const TableOptions& options, const std::string& text = homes) const {
    return plan_table(open(options, text), options);
  }
  std::string error_of(const TableOptions& options) const {
    try {
      plan(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

 private:
  TemporaryFolder folder_;
};

TableOptions usual() {
  return {.one_hot = {"city"},
          .standardize = {"rooms"},
          .fill = {{"rooms", FillStatistic::median}, {"city", "Ulm"}},
          .fill_all = FillStatistic::mean};
}

}  // namespace

TEST_CASE("a raw table has a column of numbers or texts for each feature") {
  const Tables tables;
  const Dataset data = tables.open(usual());
  REQUIRE(data.columns().size() == 4);
  CHECK(data.columns()[0].name == "rooms");
  CHECK(data.columns()[0].dtype == DType::float64);
  CHECK(data.columns()[1].dtype == DType::string);
  Feeder feeder(
      std::vector{port("rooms", DType::float64, {-1, 1}), port("city", DType::string, {-1, 1})},
      data);
  const std::vector<std::uint64_t> rows{3, 1, 2};
  const auto feeds = feeder.take(rows);
  const Tensor& numbers = feeds[0].second.tensor();
  CHECK(numbers.shape() == Shape{3, 1});
  CHECK(numbers.values<double>()[0] == 7);
  CHECK(std::isnan(numbers.values<double>()[1]));
  const Tensor& texts = feeds[1].second.tensor();
  CHECK(texts.values<std::string>()[0] == "Ulm");
  CHECK(texts.values<std::string>()[1] == "Rom");
  CHECK(texts.values<std::string>()[2].empty());
}

TEST_CASE("a plan holds vocabularies, fills, means and deviations of the training rows") {
  const TablePlan plan = Tables().plan(usual());
  CHECK(plan.target == "target");
  CHECK(plan.rows == 4);
  REQUIRE(plan.columns.size() == 3);
  const TableColumn& rooms = plan.columns[0];
  CHECK(rooms.fill == 4.0);  // the median of 1, 4 and 7
  CHECK(rooms.mean == 4.0);
  CHECK(rooms.deviation == Approx(std::sqrt(18.0 / 4)));
  const TableColumn& city = plan.columns[1];
  CHECK(city.kind == TableColumn::Kind::one_hot);
  CHECK(city.values == std::vector<std::string>{"Rom", "Ulm"});
  CHECK(city.fill_value == "Ulm");
  const TableColumn& age = plan.columns[2];
  CHECK(age.fill == 30.0);
  CHECK(age.mean == 0.0);
  CHECK(age.deviation == 1.0);
}

TEST_CASE("rows that were set apart have no part in a plan") {
  std::string text = "x,c,target\n";
  for (int i = 0; i < 20; ++i) {
    text += std::to_string(i) + ",v" + std::to_string(i) + "," + std::to_string(i) + ".5\n";
  }
  const TableOptions options{.embed = {{"c", 3}}, .standardize_all = true};
  const auto [training, held_out] = Tables().open(options, text).split(0.25, 5);
  const TablePlan plan = plan_table(training, options);
  CHECK(plan.rows == 15);
  CHECK(plan.columns[1].values.size() == 15);
  CHECK(plan.columns[1].size == 3);
  CHECK(plan_table(held_out, options).columns[1].values.size() == 5);
  double sum = 0;
  Feeder feeder(std::vector{port("x", DType::float64, {-1})}, training);
  for (std::uint64_t row = 0; row < 15; ++row) {
    sum += feeder.take(std::span(&row, 1))[0].second.tensor().item<double>();
  }
  CHECK(plan.columns[0].mean == Approx(sum / 15));
}

TEST_CASE("a constant column becomes 0 and is noted") {
  const TablePlan plan = Tables().plan({.standardize = {"a"}}, "a,t\n0.1,1\n0.1,2\n0.1,3\n");
  CHECK(plan.columns[0].mean == 0.1);
  CHECK(plan.columns[0].deviation == 1);
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes[0], Contains("'a' is constant"));
}

TEST_CASE("what a plan cannot mean is an error that names the column") {
  const Tables tables;
  const auto with = [](auto change) {
    TableOptions options = usual();
    change(options);
    return options;
  };
  const auto refuse = [&](auto change, const std::string& message) {
    CHECK_THAT(tables.error_of(with(change)), Contains(message));
  };
  refuse([](auto& one) { one.standardize = {"town"}; }, "no feature of the table");
  refuse([](auto& one) { one.standardize = {"target"}; }, "'target'");
  refuse([](auto& one) { one.standardize = {"city"}; }, "cannot be standardized");
  refuse([](auto& one) { one.standardize = {"rooms", "rooms"}; }, "twice");
  refuse([](auto& one) { one.embed = {{"city", 2}}; }, "both one-hot and an embedding");
  refuse([](auto& one) { one.fill = {{"rooms", 1.0}, {"city", "Bonn"}}; }, "'Bonn'");
  refuse([](auto& one) { one.fill = {{"rooms", "many"}}; }, "'many'");
  refuse(
      [](auto& one) {
        one.one_hot = {};
        one.fill = {};
      },
      "'Ulm' is not a number");
  refuse([](auto& one) { one.fill_all = {}; }, "the number is missing");
}
