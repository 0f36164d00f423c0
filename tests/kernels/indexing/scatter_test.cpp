#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "tests/kernels/indexing/scatter_reduction.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor indices(const Shape& shape, Int64s values) {
  return Tensor::of<std::int64_t>(shape, values);
}

}  // namespace

TEST_CASE("GatherElements takes one element for each index") {
  const Tensor x = iota<double>({3, 4});
  const Tensor at = indices({2, 3}, {0, -1, 2, 1, 1, 0});
  const auto index = [&](const Int64s& i) {
    return (at.values<std::int64_t>()[position({2, 3}, i)]);
  };
  CHECK(run_op_tensor({.op = "GatherElements", .inputs = {x, at}})
            .identical(moved<double>(x, {2, 3}, [&](const Int64s& i) {
              return Int64s{(index(i) + 3) % 3, i[1]};
            })));
  CHECK(run_op_tensor({.op = "GatherElements", .inputs = {x, at}, .attributes = {{"axis", -1L}}})
            .identical(moved<double>(x, {2, 3}, [&](const Int64s& i) {
              return Int64s{i[0], (index(i) + 4) % 4};
            })));
  CHECK_THROWS_WITH(run_op_tensor({.op = "GatherElements", .inputs = {x, indices({1, 1}, {3})}}),
                    Catch::Contains("index 3"));
  CHECK_THROWS_AS(run_op_tensor({.op = "GatherElements", .inputs = {x, indices({1}, {0})}}), Error);
  CHECK_THROWS_AS(
      run_op_tensor({.op = "GatherElements", .inputs = {x, indices({1, 5}, {0, 0, 0, 0, 0})}}),
      Error);
}

TEST_CASE("ScatterElements combines updates with the data in their order") {
  const std::string reduction = GENERATE(as<std::string>(), "none", "add", "mul", "max", "min");
  const Tensor x = random_tensor({4, 3}, 1);
  const Tensor updates = random_tensor({3, 2}, 2);
  const Tensor at = indices({3, 2}, {1, -1, 0, -1, 1, 2});
  Tensor want = x.clone();
  auto values = want.mutable_values<double>();
  for_each_index({3, 2}, [&](const Int64s& i) {
    const std::size_t p = position({3, 2}, i);
    const std::int64_t row = (at.values<std::int64_t>()[p] + 4) % 4;
    double& target = values[position({4, 3}, {row, i[1]})];
    target = combine(reduction, target, updates.values<double>()[p]);
  });
  CHECK(run_op_tensor({.op = "ScatterElements",
                       .inputs = {x, at, updates},
                       .attributes = {{"reduction", reduction}}})
            .identical(want));
}

TEST_CASE("Scatter is ScatterElements before version 11 and moves strings") {
  const Tensor x = iota_strings({3});
  const Tensor y = run_op_tensor(
      {.op = "Scatter", .inputs = {x, indices({1}, {2}), iota_strings({1})}, .version = 9});
  CHECK(y.values<std::string>()[2] == "element number 0");
  CHECK(y.values<std::string>()[1] == "element number 1");
}

TEST_CASE("GatherND and ScatterND move slices") {
  const Tensor x = iota<std::int32_t>({2, 3, 2});
  const Tensor at = indices({2, 2}, {1, -1, 0, 1});
  const Tensor y = run_op_tensor({.op = "GatherND", .inputs = {x, at}});
  CHECK(y.identical(Tensor::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{10, 11, 2, 3})));
  const Tensor batched = run_op_tensor({.op = "GatherND",
                                        .inputs = {x, indices({2, 1}, {2, 0})},
                                        .attributes = {{"batch_dims", 1L}}});
  CHECK(batched.identical(Tensor::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{4, 5, 6, 7})));
  const Tensor updates =
      Tensor::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{50, 60, 70, 80});
  const Tensor set = run_op_tensor({.op = "ScatterND", .inputs = {x, at, updates}});
  CHECK(as_doubles(set) == std::vector<double>{0, 1, 70, 80, 4, 5, 6, 7, 8, 9, 50, 60});
  const Tensor added = run_op_tensor({.op = "ScatterND",
                                      .inputs = {x, indices({2, 2}, {0, 0, 0, 0}), updates},
                                      .attributes = {{"reduction", std::string("add")}}});
  CHECK(as_doubles(added) == std::vector<double>{120, 141, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("Indices and updates that do not fit are rejected") {
  const Tensor x = iota({2, 3});
  const auto nd = [&](Tensor at, Tensor updates) {
    return run_op_tensor({.op = "ScatterND", .inputs = {x, at, updates}});
  };
  CHECK_THROWS_WITH(nd(indices({1, 2}, {0, 3}), iota({1})), Catch::Contains("index 3"));
  CHECK_THROWS_AS(nd(indices({1, 2}, {0, 2}), iota({2})), Error);
  CHECK_THROWS_AS(nd(indices({1, 3}, {0, 2, 0}), iota({1})), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "GatherND", .inputs = {x, indices({1, 3}, {0, 0, 0})}}),
                  Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "GatherND",
                                 .inputs = {x, indices({3, 1}, {0, 0, 0})},
                                 .attributes = {{"batch_dims", 1L}}}),
                  Error);
  const auto elements = [&](Tensor at, Tensor updates, std::string reduction) {
    return run_op_tensor({.op = "ScatterElements",
                          .inputs = {x, at, updates},
                          .attributes = {{"reduction", reduction}}});
  };
  CHECK_THROWS_AS(elements(indices({1, 1}, {-3}), iota({1, 1}), "none"), Error);
  CHECK_THROWS_AS(elements(indices({1, 1}, {0}), iota({1, 2}), "none"), Error);
  CHECK_THROWS_AS(elements(indices({1, 1}, {0}), iota<double>({1, 1}), "none"), Error);
  CHECK_THROWS_AS(elements(indices({1, 1}, {0}), iota({1, 1}), "mean"), Error);
}

TEST_CASE("Gathering elements and slices has derivatives") {
  const Tensor x = random_tensor({3, 4}, 1);
  check_gradient({.op = "GatherElements",
                  .inputs = {x, indices({2, 3}, {0, 2, 2, 0, 1, -1})},
                  .attributes = {{"axis", 1L}}});
  check_gradient({.op = "GatherND", .inputs = {x, indices({3, 1}, {2, 0, 2})}});
  check_gradient({.op = "GatherND",
                  .inputs = {x, indices({3, 2, 1}, {3, 3, 0, 1, -1, 2})},
                  .attributes = {{"batch_dims", 1L}}});
}

TEST_CASE("Scattering has derivatives for every reduction") {
  const std::string reduction = GENERATE(as<std::string>(), "none", "add", "mul", "max", "min");
  const bool once = reduction == "none";  // two updates of one element have no defined result
  const Tensor x = random_tensor({3, 2}, 1);
  const Tensor updates = random_tensor({2, 2}, 2);
  const graph::Attributes attributes{{"reduction", reduction}};
  check_gradient({.op = "ScatterElements",
                  .inputs = {x, indices({2, 2}, {0, 2, once ? 1 : 0, 1}), updates},
                  .attributes = attributes});
  check_gradient({.op = "ScatterND",
                  .inputs = {x, indices({2, 1}, {2, once ? 0 : 2}), updates},
                  .attributes = attributes});
}

TEST_CASE("A scattered product has the right derivative where a factor is zero") {
  const Tensor x = Tensor::of<double>({3}, std::vector<double>{2, 0, 3});
  const Tensor updates = Tensor::of<double>({4}, std::vector<double>{0, 5, 0, 0});
  check_gradient({.op = "ScatterElements",
                  .inputs = {x, indices({4}, {0, 1, 2, 2}), updates},
                  .attributes = {{"reduction", std::string("mul")}}},
                 {.order = 1});
}
