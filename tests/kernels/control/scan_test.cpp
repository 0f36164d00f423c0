#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor cumulated(const std::string& op, const Tensor& x, std::int64_t axis, bool exclusive,
                 bool reverse) {
  return run_op_tensor(
      {.op = op,
       .inputs = {x, Tensor::scalar(axis)},
       .attributes = {{"exclusive", std::int64_t{exclusive}}, {"reverse", std::int64_t{reverse}}}});
}

}  // namespace

TEST_CASE("CumSum and CumProd combine all elements up to each one") {
  const Tensor x = random_tensor({2, 5, 70}, 1);
  for (const std::string op : {"CumSum", "CumProd"}) {
    for (const std::int64_t axis : {0, 1, -1}) {
      for (const int option : {0, 1, 2, 3}) {
        const bool exclusive = option % 2 == 1;
        const bool reverse = option / 2 == 1;
        const auto at = static_cast<std::size_t>(axis < 0 ? 2 : axis);
        std::vector<double> want;
        for_each_index(x.shape(), [&](const Int64s& index) {
          double value = op == "CumSum" ? 0 : 1;
          for (std::int64_t j = 0; j < x.shape()[at]; ++j) {
            const std::int64_t i = index[at];
            if (exclusive && j == i) continue;
            if (reverse ? j < i : j > i) continue;
            Int64s other = index;
            other[at] = j;
            const double element = x.values<double>()[position(x.shape(), other)];
            value = op == "CumSum" ? value + element : value * element;
          }
          want.push_back(value);
        });
        INFO(op << " axis " << axis << " option " << option);
        check_close(cumulated(op, x, axis, exclusive, reverse), Tensor::of<double>(x.shape(), want),
                    {1e-12, 1e-12});
      }
    }
  }
}

TEST_CASE("CumSum knows integers and 16-bit floats and checks its axis") {
  CHECK(as_doubles(cumulated("CumSum", iota<std::uint32_t>({4}), 0, false, false)) ==
        std::vector<double>{0, 1, 3, 6});
  const Tensor ones(DType::float16, {5000});
  Tensor x = ones;
  for (float16& v : x.mutable_values<float16>()) v = to_float16(1);
  CHECK(as_doubles(cumulated("CumSum", x, 0, false, false))[4095] == 4096);
  CHECK_THROWS_AS(cumulated("CumSum", iota({2}), 1, false, false), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "CumSum", .inputs = {iota({2}), int64s({0, 0})}}), Error);
  CHECK(cumulated("CumSum", iota({2, 0}), 1, false, false).shape() == Shape{2, 0});
}

TEST_CASE("Cumulated sums and products have derivatives") {
  const Tensor x = random_tensor({2, 4}, 1);
  const Tensor zeros = Tensor::of<double>({2, 4}, std::vector<double>{1, 0, 2, 3, 0, 2, 0, 1});
  const std::int64_t exclusive = GENERATE(0, 1);
  const std::int64_t reverse = GENERATE(0, 1);
  const graph::Attributes attributes{{"exclusive", exclusive}, {"reverse", reverse}};
  const Tensor axis = Tensor::scalar<std::int64_t>(1);
  check_gradient({.op = "CumSum", .inputs = {x, axis}, .attributes = attributes});
  check_gradient({.op = "CumProd", .inputs = {x, axis}, .attributes = attributes});
  check_gradient({.op = "CumProd", .inputs = {zeros, axis}, .attributes = attributes});
  check_gradient({.op = "LinearRecurrence",
                  .inputs = {x, zeros, axis},
                  .attributes = {{"reverse", reverse}},
                  .domain = std::string(graph::ondine_domain)});
}

TEST_CASE("ArgMax and ArgMin find the first or last extreme element") {
  const Tensor x = Tensor::of<std::int8_t>({2, 3}, std::vector<std::int8_t>{2, 7, 7, -1, -1, 5});
  const auto run = [&](const char* op, std::int64_t last) {
    return as_doubles(run_op_tensor(
        {.op = op, .inputs = {x}, .attributes = {{"axis", 1L}, {"select_last_index", last}}}));
  };
  CHECK(run("ArgMax", 0) == std::vector<double>{1, 2});
  CHECK(run("ArgMax", 1) == std::vector<double>{2, 2});
  CHECK(run("ArgMin", 0) == std::vector<double>{0, 0});
  CHECK(run("ArgMin", 1) == std::vector<double>{0, 1});
  CHECK(run_op_tensor({.op = "ArgMax", .inputs = {x}, .attributes = {{"keepdims", 0L}}}).shape() ==
        Shape{3});
  CHECK(run_op_tensor({.op = "ArgMax", .inputs = {x}, .version = 1}).shape() == Shape{1, 3});
  const Tensor nan = Tensor::of<float>({4}, std::vector<float>{1, NAN, 2, NAN});
  CHECK(as_doubles(run_op_tensor({.op = "ArgMax", .inputs = {nan}}))[0] == 1);
  CHECK_THROWS_AS(run_op_tensor({.op = "ArgMax", .inputs = {iota({0, 2})}}), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "ArgMax", .inputs = {x}, .attributes = {{"axis", 2L}}}),
                  Error);
}

TEST_CASE("Hardmax marks the first greatest element") {
  const Tensor x = Tensor::of<float>({2, 3}, std::vector<float>{2, 7, 7, -1, -3, -2});
  CHECK(as_doubles(run_op_tensor({.op = "Hardmax", .inputs = {x}})) ==
        std::vector<double>{0, 1, 0, 1, 0, 0});
  CHECK(as_doubles(run_op_tensor({.op = "Hardmax", .inputs = {x}, .attributes = {{"axis", 0L}}})) ==
        std::vector<double>{1, 1, 1, 0, 0, 0});
  CHECK(as_doubles(run_op_tensor(
            {.op = "Hardmax", .inputs = {x}, .attributes = {{"axis", 0L}}, .version = 11})) ==
        std::vector<double>{0, 1, 0, 0, 0, 0});
}

TEST_CASE("TopK sorts the extreme elements") {
  const Tensor x = Tensor::of<float>({2, 4}, std::vector<float>{3, 1, 3, 2, 5, 5, 9, -1});
  const auto run = [&](std::int64_t k, std::int64_t axis, std::int64_t largest) {
    return run_op({.op = "TopK",
                   .inputs = {x, int64s({k})},
                   .attributes = {{"axis", axis}, {"largest", largest}},
                   .outputs = 2});
  };
  const auto most = run(3, -1, 1);
  CHECK(as_doubles(most[0].tensor()) == std::vector<double>{3, 3, 2, 9, 5, 5});
  CHECK(as_doubles(most[1].tensor()) == std::vector<double>{0, 2, 3, 2, 0, 1});
  const auto least = run(1, 0, 0);
  CHECK(as_doubles(least[0].tensor()) == std::vector<double>{3, 1, 3, -1});
  CHECK(as_doubles(least[1].tensor()) == std::vector<double>{0, 0, 0, 1});
  CHECK(run(0, 0, 1)[0].tensor().shape() == Shape{0, 4});
  CHECK(run_op(
            {.op = "TopK", .inputs = {x}, .attributes = {{"k", 2L}}, .outputs = 2, .version = 1})[0]
            .tensor()
            .shape() == Shape{2, 2});
  CHECK_THROWS_AS(run(5, -1, 1), Error);
  CHECK_THROWS_AS(run(-1, -1, 1), Error);
  CHECK_THROWS_AS(run_op({.op = "TopK", .inputs = {x, int64s({1, 1})}, .outputs = 2}), Error);
}

TEST_CASE("TopK of many long lines gives what sorting gives") {
  const Tensor x = random_floats({100, 300}, 1);
  const Tensor y = run_op({.op = "TopK", .inputs = {x, int64s({10})}, .outputs = 2})[0].tensor();
  for (std::size_t line = 0; line < 100; ++line) {
    std::vector<float> row(
        x.values<float>().begin() + static_cast<std::ptrdiff_t>(line * 300),
        x.values<float>().begin() + static_cast<std::ptrdiff_t>(line * 300 + 300));
    std::sort(row.begin(), row.end(), std::greater<>());
    for (std::size_t i = 0; i < 10; ++i) REQUIRE(y.values<float>()[line * 10 + i] == row[i]);
  }
}

TEST_CASE("TopK has derivatives") {
  const Tensor x = random_tensor({3, 4}, 1);
  check_gradient({.op = "TopK", .inputs = {x, int64s({2})}, .outputs = 2});
  check_gradient({.op = "TopK", .inputs = {x, int64s({2})}, .attributes = {{"axis", 0L}}});
}
