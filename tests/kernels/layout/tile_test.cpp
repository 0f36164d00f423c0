#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor tiled(const Tensor& x, Int64s repeats) {
  return run_op_tensor({.op = "Tile", .inputs = {x, int64s(std::move(repeats))}});
}

}  // namespace

TEST_CASE("Tile repeats along each axis") {
  const Tensor x = iota<std::uint16_t>({2, 3});
  CHECK(tiled(x, {2, 2}).identical(moved<std::uint16_t>(x, {4, 6}, [](const Int64s& i) {
    return Int64s{i[0] % 2, i[1] % 3};
  })));
  CHECK(tiled(iota_strings({2}), {2}).item<std::string>(3) == "element number 1");
  CHECK(tiled(x, {0, 1}).shape() == Shape{0, 3});
  CHECK(tiled(iota({}), {}).shape() == Shape{});
  CHECK_THROWS_AS(tiled(x, {2}), Error);
  CHECK_THROWS_AS(tiled(x, {2, -1}), Error);
  CHECK_THROWS_AS(tiled(x, {INT64_MAX, INT64_MAX}), Error);
}

TEST_CASE("Tile-6 takes repeats of all axes") {
  const Tensor x = iota({2, 3});
  const auto y = run_op_tensor({.op = "Tile", .inputs = {x, int64s({1, 3})}, .version = 6});
  CHECK(y.identical(moved<float>(x, {2, 9}, [](const Int64s& i) {
    return Int64s{i[0], i[1] % 3};
  })));
}

TEST_CASE("Tile-1 repeats one axis") {
  const auto run = [](float tiles, float axis) {
    return run_op_tensor({.op = "Tile",
                          .inputs = {iota({2, 3}), Tensor::scalar(tiles), Tensor::scalar(axis)},
                          .version = 1});
  };
  CHECK(run(3, 1).shape() == Shape{2, 9});
  CHECK_THROWS_AS(run(1.5F, 1), Error);
  CHECK_THROWS_AS(run(1, 2), Error);
}

TEST_CASE("Tile has derivatives") {
  check_gradient({.op = "Tile", .inputs = {random_tensor({2, 3}, 1), int64s({2, 3})}});
  check_gradient({.op = "Tile", .inputs = {random_tensor({3}, 1), int64s({4})}});
  check_gradient({.op = "Tile", .inputs = {random_tensor({2, 1, 3}, 1), int64s({2, 3, 1})}});
  check_gradient({.op = "Tile", .inputs = {random_tensor({}, 1), int64s({})}});
  check_gradient({.op = "Tile",
                  .inputs = {random_tensor({2, 3}, 1), Tensor::scalar(2.0), Tensor::scalar(1.0)},
                  .version = 1},
                 {.dynamic_dims = false, .skip = {1, 2}});
}
