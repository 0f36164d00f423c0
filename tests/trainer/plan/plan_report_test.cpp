#include <algorithm>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

// y = tanh(x w) v with x [N, 4], w [4, 8], v [8, 2].
std::vector<std::byte> perceptron() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {"N", 4});
  b.initializer("w", random_floats({4, 8}, 1));
  b.initializer("v", random_floats({8, 2}, 2));
  b.node("MatMul", "", {"x", "w"}, {"h"});
  b.node("Tanh", "", {"h"}, {"t"});
  b.node("MatMul", "", {"t", "v"}, {"y"});
  b.output("y", DType::float32, {"N", 2});
  return b.bytes();
}

PlanRequest request(std::string input, const Shape& shape) {
  PlanRequest result;
  result.shapes.emplace_back(std::move(input), shape);
  return result;
}

const PlannedValue& find(const PlanReport& report, const std::string& name) {
  for (const PlannedOperator& node : report.nodes) {
    for (const PlannedValue& value : node.outputs) {
      if (value.name == name) return value;
    }
  }
  FAIL("no node computes " << name);
  return report.nodes.at(0).outputs.at(0);
}

// No two values that are in use at once share memory but those written in place.
void check_disjoint(const PlanReport& report) {
  std::vector<PlannedValue> arena;
  for (const PlannedOperator& node : report.nodes) {
    for (const PlannedValue& value : node.outputs) {
      if (value.storage == Storage::arena) arena.push_back(value);
    }
  }
  for (const PlannedValue& a : arena) {
    CHECK(a.offset + a.bytes <= report.arena_bytes);
    for (const PlannedValue& b : arena) {
      const bool at_once = a.first < b.first && b.first <= a.last;
      if (!at_once || (b.in_place && a.last == b.first) || (b.in_place && a.offset == b.offset)) {
        continue;
      }
      CAPTURE(a.name, b.name);
      CHECK((a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset));
    }
  }
}

}  // namespace

TEST_CASE("the report of a plan has storage and lifetime of each value") {
  const Model model = Model::load(perceptron());
  const PlanReport report = model.plan_report(request("x", {16, 4}));
  REQUIRE(report.nodes.size() == 3);
  CHECK(report.nodes[0].op == "MatMul");
  CHECK(report.nodes[1].op == "Tanh");
  const PlannedValue& h = find(report, "h");
  CHECK(h.type == "tensor(float)[16, 8]");
  CHECK(h.storage == Storage::arena);
  CHECK(h.bytes == 16 * 8 * 4);
  CHECK(h.first == 0);
  CHECK(h.last == 1);
  CHECK_FALSE(h.in_place);
  const PlannedValue& t = find(report, "t");
  CHECK(t.in_place);
  CHECK(t.offset == h.offset);
  CHECK(t.first == 1);
  CHECK(t.last == 2);
  const PlannedValue& y = find(report, "y");
  CHECK(y.bytes == 16 * 2 * 4);
  CHECK(y.first == 2);
  CHECK(y.last == 3);
  check_disjoint(report);
}

TEST_CASE("the report of a plan names the values in use at the peak") {
  const Model model = Model::load(perceptron());
  const PlanReport report = model.plan_report(request("x", {16, 4}));
  CHECK(report.peak_bytes <= report.arena_bytes);
  std::uint64_t sum = 0;
  std::vector<std::string> names;
  for (const PlannedValue& value : report.peak_values) {
    sum += value.bytes;
    names.push_back(value.name);
  }
  CHECK(sum == report.peak_bytes);
  CHECK(std::ranges::is_sorted(report.peak_values, std::ranges::greater(), &PlannedValue::bytes));
  std::uint64_t workspace = 0;
  for (const PlannedOperator& node : report.nodes) {
    workspace = std::max(workspace, node.workspace_bytes);
  }
  CHECK(report.workspace_bytes == workspace);
  if (workspace == 0) {
    CHECK(report.peak_node == 2);
    CHECK(names == std::vector<std::string>{"t", "y"});
  }
}

TEST_CASE("the report of a plan has the totals of the call that is made") {
  const Model model = Model::load(encode(linear_regression(0.1F)));
  for (const bool training : {false, true}) {
    PlanRequest shapes = request("x", {5, 2});
    std::optional<std::size_t> algorithm;
    if (training) algorithm = 0;
    shapes.algorithm = algorithm;
    NamedValues feeds{{"x", Tensor(DType::float32, {5, 2})}};
    if (training) feeds.emplace_back("t", Tensor(DType::float32, {5, 1}));
    const PlanReport report = model.plan_report(shapes);  // the rows of t are those of x
    const std::vector<std::string> fetches{training ? "loss" : "y"};
    const PlanInfo info = model.plan(feeds, algorithm, fetches);
    CHECK(report.nodes.size() == info.nodes);
    CHECK(report.arena_bytes == info.arena_bytes);
    CHECK(report.constant_bytes == info.constant_bytes);
    CHECK(report.state_bytes == info.state_bytes);
    check_disjoint(report);
  }
}

TEST_CASE(
    "the report of a step shows the storage of updates: in place at the end, or a second buffer") {
  const Model model = Model::load(encode(linear_regression(0.1F)));
  // The 4 bytes of w's gradient per row may wait for the end where they are no more than its 8.
  for (const std::int64_t rows : {1, 5}) {
    CAPTURE(rows);
    PlanRequest step = request("x", {rows, 2});
    step.algorithm = 0;
    const PlanReport report = model.plan_report(step);
    for (const char* name : {"w_new", "b_new"}) {
      CHECK(find(report, name).storage == Storage::state);
      CHECK(find(report, name).last == report.nodes.size());
    }
    CHECK(find(report, "b_new").in_place);
    CHECK(find(report, "w_new").in_place == (rows == 1));
    CHECK(report.nodes.back().commit);
    CHECK_FALSE(report.nodes.front().commit);
    CHECK(to_string(report).find("state in place") != std::string::npos);
  }
}

TEST_CASE("a dim without a size is refused with the input, the dim and an example") {
  const Model model = Model::load(perceptron());
  CHECK_THROWS_WITH(model.plan_report(), Catch::Contains("dim 0 ('N') of input 'x'") &&
                                             Catch::Contains("tensor(float)[N, 4]") &&
                                             Catch::Contains("--shape of ondine inspect") &&
                                             Catch::Contains("x=1x4"));
  CHECK_THROWS_WITH(model.inspect("plan"), Catch::Contains("dim 0 ('N') of input 'x'"));
}

TEST_CASE("shapes that do not fit the model are refused") {
  const Model model = Model::load(encode(linear_regression(0.1F)));
  CHECK_THROWS_WITH(model.plan_report(request("x", {5, 3})),
                    Catch::Contains("input 'x' must be a tensor(float)[N, 2]"));
  CHECK_THROWS_WITH(model.plan_report(request("x", {5})), Catch::Contains("input 'x' must be"));
  CHECK_THROWS_WITH(model.plan_report(request("z", {5, 2})),
                    Catch::Contains("there is no input 'z'; inputs are 'x'"));
  PlanRequest step = request("x", {5, 2});
  step.algorithm = 0;
  step.shapes.emplace_back("t", Shape{4, 1});
  CHECK_THROWS_WITH(model.plan_report(step), Catch::Contains("dim 'N'"));
  step.algorithm = 1;
  CHECK_THROWS_AS(model.plan_report(step), Error);
}

}  // namespace ondine::test
