// Tables with categories and missing numbers, tuned without a word about columns.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/finetune.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/finetune/sample_data.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// The price follows from the city and the size; every ninth size is missing.
void write_houses(const std::filesystem::path& file, int rows, bool has_id = false) {
  const std::array<std::string, 3> cities{"Bonn", "Ulm", "Kiel"};
  std::mt19937 random(3);
  std::string text = has_id ? "id,size,city,price\n" : "size,city,price\n";
  for (int i = 0; i < rows; ++i) {
    const unsigned city = below(random, 3);
    const double size = 50 + below(random, 100);
    if (has_id) text += "house " + std::to_string(i) + ",";
    text += (i % 9 == 4 ? "NA" : std::to_string(size)) + "," + cities[city] + "," +
            std::to_string(1000 + 1000 * static_cast<double>(city) + size) + "\n";
  }
  write_file(file, text);
}

FinetuneOptions brief() {
  FinetuneOptions options;
  options.epochs = 30;
  options.learning_rate = 0.01F;
  return options;
}

const TableColumn& column(const FinetuneReport& report, const std::string& name) {
  static TablePlan plan;
  plan = data_record(*report.model).table_plan.value();
  return *std::find_if(plan.columns.begin(), plan.columns.end(),
                       [&](const TableColumn& one) { return one.name == name; });
}

}  // namespace

TEST_CASE("a new network takes categories and missing numbers of a table as they are written") {
  const TemporaryFolder folder;
  write_houses(folder / "houses.csv", 300);
  FinetuneOptions options = brief();
  options.output = folder / "tuned.onnx";
  const FinetuneReport report = finetune({}, folder / "houses.csv", options);
  CHECK(report.evaluation.metrics["r2"] > 0.95);
  CHECK(report.assumed.size() <= 5);
  CHECK_THAT(report.assumed[2],
             Contains("one-hot for 'city' (3 values)") && Contains("missing numbers of 'size'"));
  CHECK(column(report, "city").kind == TableColumn::Kind::one_hot);
  CHECK(column(report, "size").fill.has_value());
  CHECK(column(report, "size").deviation > 1);

  const Model tuned = Model::load(report.output);
  const DatasetOptions reading = recorded_options(tuned, DataUse::evaluation);
  const Dataset data = Dataset::open(folder / "houses.csv", reading);
  CHECK(evaluate(tuned, data, {.metrics = {"r2"}}).metrics["r2"] > 0.95);
}

TEST_CASE("options name the columns that are treated otherwise") {
  const TemporaryFolder folder;
  write_houses(folder / "houses.csv", 300);
  FinetuneOptions options = brief();
  options.table.embed = {{"city", 2}};
  options.table.fill = {{"size", 0.0}};
  options.table.standardize = {"size"};
  const FinetuneReport report = finetune({}, folder / "houses.csv", options);
  CHECK(column(report, "city").size == 2);
  CHECK(column(report, "size").fill == 0.0);
  options.table = {.one_hot = {"nowhere"}};
  CHECK_THROWS_WITH(finetune({}, folder / "houses.csv", options), Contains("'nowhere'"));
}

TEST_CASE("a column of many values becomes an embedding, and one of names is asked about") {
  const TemporaryFolder folder;
  std::string text = "street,y\n";
  for (int i = 0; i < 400; ++i) {
    text += "s" + std::to_string(i % 40) + "," + std::to_string(i % 40 < 20 ? 0 : 1) + "\n";
  }
  write_file(folder / "streets.csv", text);
  const FinetuneReport report = finetune({}, folder / "streets.csv", brief());
  CHECK(column(report, "street").kind == TableColumn::Kind::embedding);
  CHECK(report.evaluation.metrics["accuracy"] > 0.9);

  write_houses(folder / "houses.csv", 300, true);
  CHECK_THROWS_WITH(finetune({}, folder / "houses.csv", brief()),
                    Contains("column 'id'") && Contains("--drop"));
  FinetuneOptions options = brief();
  options.data.drop = {"id"};
  CHECK(finetune({}, folder / "houses.csv", options).evaluation.metrics["r2"] > 0.95);
}

TEST_CASE("cross-validation and validation data read the same columns") {
  const TemporaryFolder folder;
  write_houses(folder / "houses.csv", 240);
  write_houses(folder / "others.csv", 60);
  FinetuneOptions options = brief();
  options.validation = folder / "others.csv";
  CHECK(finetune({}, folder / "houses.csv", options).evaluation.metrics["r2"] > 0.95);
  options = brief();
  options.trainer.folds = 3;
  const FinetuneReport report = finetune({}, folder / "houses.csv", options);
  CHECK(report.fit.folds.size() == 3);
  CHECK(report.evaluation.metrics["r2"] > 0.9);
}

TEST_CASE("a given network takes the columns that the options name") {
  ModelBuilder builder("net");
  const std::string x = builder.input("x", DType::float32, {"N", 4});
  builder.node("MatMul", {x, builder.initializer("w", random_floats({4, 1}, 1, -1, 1))}, {}, "y");
  builder.output("y", DType::float32, {"N", 1});
  const TemporaryFolder folder;
  write_houses(folder / "houses.csv", 200);
  FinetuneOptions options = brief();
  CHECK_THROWS_WITH(finetune(builder.bytes(), folder / "houses.csv", options),
                    Contains("--one-hot"));
  options.table = {.one_hot = {"city"}, .fill_all = FillStatistic::mean};
  const FinetuneReport report = finetune(builder.bytes(), folder / "houses.csv", options);
  CHECK(column(report, "city").values.size() == 3);
}
