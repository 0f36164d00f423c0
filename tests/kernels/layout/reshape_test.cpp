#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::string reshaped(const Shape& x, std::vector<std::int64_t> target, std::int64_t allowzero = 0) {
  const Tensor in = iota(x);
  const Tensor out = run_op_tensor({.op = "Reshape",
                                    .inputs = {in, int64s(std::move(target))},
                                    .attributes = {{"allowzero", allowzero}}});
  CHECK(out.reshaped(x).identical(in));
  return out.shape().to_string();
}

}  // namespace

TEST_CASE("Reshape keeps the elements and resolves 0 and -1") {
  CHECK(reshaped({2, 3, 4}, {4, 6}) == "[4, 6]");
  CHECK(reshaped({2, 3, 4}, {0, -1}) == "[2, 12]");
  CHECK(reshaped({2, 3, 4}, {-1, 0, 2}) == "[4, 3, 2]");
  CHECK(reshaped({1, 1}, {}) == "[]");
  CHECK(reshaped({}, {1, -1}) == "[1, 1]");
  CHECK(reshaped({0, 3}, {3, -1}) == "[3, 0]");
  CHECK(reshaped({2, 0}, {0, 5}, 1) == "[0, 5]");
  CHECK(reshaped({0, 3}, {-1}) == "[0]");
}

TEST_CASE("Reshape-1 takes the shape from an attribute") {
  const Tensor y = run_op_tensor({.op = "Reshape",
                                  .inputs = {iota({2, 3})},
                                  .attributes = {{"shape", std::vector<std::int64_t>{3, -1}}},
                                  .version = 1});
  CHECK(y.shape() == Shape{3, 2});
}

TEST_CASE("Reshape moves strings") {
  const Tensor x = iota_strings({2, 3});
  const Tensor y = run_op_tensor({.op = "Reshape", .inputs = {x, int64s({6})}});
  CHECK(y.identical(x.reshaped({6})));
}

TEST_CASE("Reshape rejects a shape with another number of elements") {
  CHECK_THROWS_AS(reshaped({2, 3}, {4}), Error);
  CHECK_THROWS_AS(reshaped({2, 3}, {4, -1}), Error);
  CHECK_THROWS_AS(reshaped({2, 3}, {-1, -1}), Error);
  CHECK_THROWS_AS(reshaped({2, 3}, {-2, 3}), Error);
  CHECK_THROWS_AS(reshaped({2, 3}, {2, 3, 0}), Error);
  CHECK_THROWS_AS(reshaped({2, 0}, {0, -1}, 1), Error);
  CHECK_THROWS_AS(reshaped({1, 3}, {std::int64_t{1} << 62, 8, -1}), Error);
}

TEST_CASE("Flatten makes a matrix") {
  const auto flat = [](std::int64_t axis) {
    return run_op_tensor(
               {.op = "Flatten", .inputs = {iota({2, 3, 4})}, .attributes = {{"axis", axis}}})
        .shape();
  };
  CHECK(flat(0) == Shape{1, 24});
  CHECK(flat(1) == Shape{2, 12});
  CHECK(flat(3) == Shape{24, 1});
  CHECK(flat(-1) == Shape{6, 4});
  CHECK_THROWS_AS(flat(4), Error);
  CHECK(run_op_tensor({.op = "Flatten", .inputs = {iota({})}, .attributes = {{"axis", 0L}}})
            .shape() == Shape{1, 1});
}

TEST_CASE("Squeeze removes axes of size 1") {
  const Tensor x = iota({1, 3, 1, 2});
  CHECK(run_op_tensor({.op = "Squeeze", .inputs = {x}}).shape() == Shape{3, 2});
  CHECK(run_op_tensor({.op = "Squeeze", .inputs = {x, int64s({-2})}}).shape() == Shape{1, 3, 2});
  CHECK(run_op_tensor({.op = "Squeeze", .inputs = {x, int64s({})}}).shape() == x.shape());
  CHECK(run_op_tensor({.op = "Squeeze",
                       .inputs = {x},
                       .attributes = {{"axes", std::vector<std::int64_t>{0}}},
                       .version = 11})
            .shape() == Shape{3, 1, 2});
  CHECK_THROWS_AS(run_op_tensor({.op = "Squeeze", .inputs = {x, int64s({1})}}), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "Squeeze", .inputs = {x, int64s({4})}}), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "Squeeze", .inputs = {x, int64s({0, -4})}}), Error);
}

TEST_CASE("Unsqueeze adds axes of size 1") {
  const Tensor x = iota({3, 2});
  CHECK(run_op_tensor({.op = "Unsqueeze", .inputs = {x, int64s({0, 3})}}).shape() ==
        Shape{1, 3, 2, 1});
  CHECK(run_op_tensor({.op = "Unsqueeze", .inputs = {x, int64s({-1, 1})}}).shape() ==
        Shape{3, 1, 2, 1});
  CHECK(run_op_tensor({.op = "Unsqueeze",
                       .inputs = {x},
                       .attributes = {{"axes", std::vector<std::int64_t>{1}}},
                       .version = 1})
            .shape() == Shape{3, 1, 2});
  CHECK_THROWS_AS(run_op_tensor({.op = "Unsqueeze", .inputs = {x, int64s({3})}}), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "Unsqueeze", .inputs = {x, int64s({0, 0})}}), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "Unsqueeze", .inputs = {x}, .version = 11}), Error);
}

TEST_CASE("Views have derivatives") {
  const Tensor x = random_tensor({2, 1, 3}, 1);
  check_gradient({.op = "Reshape", .inputs = {x, int64s({3, 2})}});
  check_gradient({.op = "Flatten", .inputs = {x}});
  check_gradient({.op = "Squeeze", .inputs = {x, int64s({1})}});
  check_gradient({.op = "Squeeze", .inputs = {x}});
  check_gradient({.op = "Unsqueeze", .inputs = {x, int64s({0, 2})}});
}
