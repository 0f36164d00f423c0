#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("Concat puts its inputs one after the other") {
  const Tensor a = iota({2, 1, 2});
  const Tensor b = iota({2, 3, 2});
  const Tensor none = iota({2, 0, 2});
  const Tensor y =
      run_op_tensor({.op = "Concat", .inputs = {a, none, b}, .attributes = {{"axis", -2L}}});
  CHECK(y.identical(Tensor::of<float>(
      {2, 4, 2}, std::vector<float>{0, 1, 0, 1, 2, 3, 4, 5, 2, 3, 6, 7, 8, 9, 10, 11})));
  const Tensor s = iota_strings({2});
  CHECK(run_op_tensor({.op = "Concat", .inputs = {s, s}, .attributes = {{"axis", 0L}}})
            .item<std::string>(2) == "element number 0");
}

TEST_CASE("Concat-1 uses axis 1 by default, Concat-4 needs one") {
  const Tensor a = iota({2, 1});
  CHECK(run_op_tensor({.op = "Concat", .inputs = {a, a}, .version = 1}).shape() == Shape{2, 2});
  CHECK_THROWS_AS(run_op_tensor({.op = "Concat", .inputs = {a, a}}), Error);
}

TEST_CASE("Concat rejects inputs that do not fit") {
  const auto run = [](Tensor a, Tensor b) {
    return run_op_tensor({.op = "Concat", .inputs = {a, b}, .attributes = {{"axis", 0L}}});
  };
  CHECK_THROWS_AS(run(iota({2, 3}), iota({2, 2})), Error);
  CHECK_THROWS_AS(run(iota({2, 3}), iota({3})), Error);
  CHECK_THROWS_AS(run(iota({2}), iota<double>({2})), Error);
  CHECK_THROWS_AS(run(iota({}), iota({})), Error);
}

TEST_CASE("Concat has derivatives") {
  const Tensor a = random_tensor({2, 1, 2}, 1);
  const Tensor b = random_tensor({2, 3, 2}, 2);
  check_gradient({.op = "Concat", .inputs = {a, b, a}, .attributes = {{"axis", 1L}}});
  check_gradient({.op = "Concat", .inputs = {a, b}, .attributes = {{"axis", -2L}}});
  check_gradient({.op = "Concat", .inputs = {a}, .attributes = {{"axis", 0L}}});
}

TEST_CASE("Split cuts along an axis") {
  const Tensor x = iota({2, 5});
  const auto sizes = [&](std::vector<Value> inputs, graph::Attributes attributes,
                         std::size_t outputs, std::int64_t version) {
    attributes.emplace_back("axis", std::int64_t{1});
    std::vector<std::int64_t> out;
    std::int64_t column = 0;
    for (const Value& part : run_op({.op = "Split",
                             .inputs = std::move(inputs),
                             .attributes = std::move(attributes),
                             .outputs = outputs,
                             .version = version})) {
      const Tensor& t = part.tensor();
      out.push_back(t.shape()[1]);
      for (std::int64_t k = 0; k < t.shape()[1]; ++k, ++column) {
        CHECK(t.values<float>()[static_cast<std::size_t>(t.shape()[1] + k)] ==
              static_cast<float>(5 + column));
      }
    }
    CHECK(column == 5);
    return out;
  };
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes({x, int64s({1, 4})}, {}, 2, 13) == Sizes{1, 4});
  CHECK(sizes({x, int64s({2, 0, 3})}, {}, 3, 18) == Sizes{2, 0, 3});
  CHECK(sizes({x}, {{"num_outputs", std::int64_t{2}}}, 2, 18) == Sizes{3, 2});
  CHECK(sizes({x}, {{"num_outputs", std::int64_t{4}}}, 4, 18) == Sizes{2, 2, 1, 0});
  CHECK(sizes({x}, {{"split", Sizes{3, 2}}}, 2, 2) == Sizes{3, 2});
  CHECK(sizes({x}, {}, 5, 11) == Sizes{1, 1, 1, 1, 1});
  CHECK(sizes({x, Tensor::of<float>({2}, std::vector<float>{4, 1})}, {}, 2, 1) == Sizes{4, 1});
  CHECK_THROWS_AS(sizes({x}, {}, 2, 13), Error);
  CHECK_THROWS_AS(sizes({x, int64s({1, 3})}, {}, 2, 13), Error);
  CHECK_THROWS_AS(sizes({x, int64s({6, -1})}, {}, 2, 13), Error);
  CHECK_THROWS_AS(sizes({x, int64s({1, 4})}, {}, 3, 13), Error);
  CHECK_THROWS_AS(sizes({x, int64s({INT64_MAX, INT64_MAX, 7})}, {}, 3, 13), Error);
  CHECK_THROWS_AS(sizes({x}, {{"num_outputs", std::int64_t{3}}}, 2, 18), Error);
}

TEST_CASE("Split has derivatives") {
  const Tensor x = random_tensor({2, 5}, 1);
  check_gradient(
      {.op = "Split", .inputs = {x, int64s({1, 4})}, .attributes = {{"axis", 1L}}, .outputs = 2});
  check_gradient({.op = "Split", .inputs = {x}, .attributes = {{"num_outputs", 2L}}, .outputs = 2});
}
