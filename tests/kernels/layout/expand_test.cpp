#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor expanded(const Tensor& x, Int64s shape) {
  return run_op_tensor({.op = "Expand", .inputs = {x, int64s(std::move(shape))}});
}

Tensor summed_to(const Tensor& x, Int64s shape) {
  return run_op_tensor({.op = "SumTo",
                        .inputs = {x, int64s(std::move(shape))},
                        .domain = std::string(graph::ondine_domain)});
}

}  // namespace

TEST_CASE("Expand broadcasts both ways") {
  const Tensor x = iota<std::int64_t>({2, 1, 3});
  CHECK(expanded(x, {4, 1}).identical(moved<std::int64_t>(x, {2, 4, 3}, [](const Int64s& i) {
    return Int64s{i[0], 0, i[2]};
  })));
  CHECK(expanded(iota_strings({1}), {3}).item<std::string>(2) == "element number 0");
  CHECK(expanded(iota({}), {2, 3}).shape() == Shape{2, 3});
  CHECK(expanded(x, {2, 0, 1}).shape() == Shape{2, 0, 3});
  CHECK(expanded(x, {}).identical(x));
  CHECK_THROWS_AS(expanded(x, {2, 2}), Error);
  CHECK_THROWS_AS(expanded(x, {-1, 3}), Error);
}

TEST_CASE("SumTo is the adjoint of Expand") {
  const Tensor x = iota<double>({2, 3, 2});
  CHECK(as_doubles(summed_to(x, {3, 1})) == std::vector<double>{14, 22, 30});
  CHECK(as_doubles(summed_to(x, {})) == std::vector<double>{66});
  CHECK(summed_to(x, {2, 3, 2}).identical(x));
  CHECK(as_doubles(summed_to(iota({0, 2}), {2})) == std::vector<double>{0, 0});
  CHECK_THROWS_AS(summed_to(x, {2, 1}), Error);
  CHECK_THROWS_AS(summed_to(x, {1, 2, 3, 2}), Error);
}

TEST_CASE("Expand and SumTo have derivatives") {
  check_gradient({.op = "Expand", .inputs = {random_tensor({2, 1, 3}, 1), int64s({2, 2, 4, 1})}});
  check_gradient({.op = "Expand", .inputs = {random_tensor({}, 1), int64s({2, 2})}});
  check_gradient({.op = "SumTo",
                  .inputs = {random_tensor({2, 2, 3}, 1), int64s({1, 3})},
                  .domain = std::string(graph::ondine_domain)});
}
