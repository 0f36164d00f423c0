// The columns of a table as inputs of a model.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Kind = TableColumn::Kind;

std::vector<std::byte> network(std::int64_t width, std::int64_t opset = 17) {
  ModelBuilder b("net", opset);
  const std::string x = b.input("x", DType::float32, {"N", width});
  b.node("MatMul", {x, b.initializer("w", random_floats({width, 2}, 1))}, {}, "y");
  b.output("y", DType::float32, {"N", 2});
  return b.bytes();
}

TablePlan plan() {
  TablePlan result;
  result.columns = {
      {.name = "a", .fill = 2.0, .mean = 1, .deviation = 4},
      {.name = "b"},
      {.name = "color", .kind = Kind::one_hot, .values = {"blue", "red"}, .fill_value = "red"},
      {.name = "x", .kind = Kind::embedding, .values = {"p", "q"}, .size = 3}};
  result.target = "t";
  return result;
}

Model prepared(const TablePlan& table, std::int64_t width = 7) {
  return prepare(network(width), {.loss = Loss::mse, .table = table});
}

std::string error_of(const TablePlan& table, std::int64_t width = 7, std::int64_t opset = 17) {
  try {
    prepare(network(width, opset), {.loss = Loss::mse, .table = table});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

NamedValues rows() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {{"x", Tensor::of<std::string>({4, 1}, std::vector<std::string>{"q", "p", "", "z"})},
          {"color",
           Tensor::of<std::string>({4, 1}, std::vector<std::string>{"red", "", "blue", "green"})},
          {"b", Tensor::of<double>({4, 1}, std::vector<double>{0.5, -1, 2, 3})},
          {"a", Tensor::of<double>({4, 1}, std::vector<double>{5, nan, 1, -3})}};
}

// Expected rows that the network itself reads.
std::vector<std::vector<float>> expected(const Tensor& embedding) {
  const auto vectors = embedding.values<float>();
  const auto with = [&](std::vector<float> row, std::size_t code) {
    for (std::size_t i = 0; i < 3; ++i) row.push_back(vectors[3 * code + i]);
    return row;
  };
  return {with({1, 0.5F, 0, 1}, 2), with({0.25F, -1, 0, 1}, 1), with({0, 2, 1, 0}, 0),
          with({-1, 3, 0, 0}, 0)};
}

void check_outputs(const Model& model) {
  const Tensor outputs = model.infer(rows())["y"].tensor();
  const Tensor weights = random_floats({7, 2}, 1);
  const auto w = weights.values<float>();
  const auto inputs = expected(model.get_state("x.embedding"));
  for (std::size_t row = 0; row < inputs.size(); ++row) {
    for (std::size_t column = 0; column < 2; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < 7; ++i) {
        sum += static_cast<double>(inputs[row][i]) * static_cast<double>(w[2 * i + column]);
      }
      CHECK(outputs.values<float>()[2 * row + column] == Approx(sum).margin(1e-5));
    }
  }
}

}  // namespace

TEST_CASE("a model takes the columns of a table by their names") {
  const Model model = prepared(plan());
  const std::vector<PortInfo> inputs = model.inputs();
  REQUIRE(inputs.size() == 4);
  CHECK(inputs[0].name == "a");
  CHECK(inputs[0].dtype == DType::float64);
  CHECK(inputs[3].name == "x");
  CHECK(inputs[3].dtype == DType::string);
  check_outputs(model);
  const DataRecord record = data_record(model);
  REQUIRE(record.table_plan);
  CHECK(record.table_plan->columns == plan().columns);
  CHECK(record.table->target == "t");
}

TEST_CASE("an embedding is drawn where other weights are kept, and trains") {
  Model model = prepared(plan());
  const Tensor before = model.get_state("x.embedding").clone();
  CHECK(before.values<float>()[3] != before.values<float>()[4]);
  NamedValues feeds = rows();
  feeds.emplace_back("label", Tensor::of<float>({4, 2}, std::vector<float>(8, 1)));
  model.train_step(feeds);
  const Tensor after = model.get_state("x.embedding");
  CHECK(after.values<float>()[0] != before.values<float>()[0]);
}

TEST_CASE("a table that does not fit the model is an error") {
  CHECK_THAT(error_of(plan(), 9), Contains("become 7 numbers ('color' 2, 'x' 3, others 1)"));
  CHECK_THAT(error_of(plan(), 7, 8), Contains("ai.onnx 9"));
  TablePlan other = plan();
  other.columns[1].name = "w";
  CHECK_THAT(error_of(other), Contains("has the name of a value of the model"));
  other.columns[1].name = "a";
  CHECK_THAT(error_of(other), Contains("name of its own"));
  other = plan();
  other.columns[2].fill_value = "pink";
  CHECK_THAT(error_of(other), Contains("'color'"));
  other = plan();
  other.columns[0].deviation = 0;
  CHECK_THAT(error_of(other), Contains("deviation"));
  other = plan();
  other.input = "z";
  CHECK_THAT(error_of(other), Contains("'z'"));
}
