#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor flags(std::vector<int> values) {
  Tensor out(DType::boolean, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) out.mutable_values<bool>()[i] = values[i] != 0;
  return out;
}

template <class T>
std::vector<double> range(T start, T limit, T delta) {
  return as_doubles(run_op_tensor(
      {.op = "Range",
       .inputs = {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)}}));
}

}  // namespace

TEST_CASE("Range counts from start to before limit") {
  using Row = std::vector<double>;
  CHECK(range<std::int64_t>(3, 9, 3) == Row{3, 6});
  CHECK(range<std::int32_t>(10, 4, -2) == Row{10, 8, 6});
  CHECK(range<std::int16_t>(1, 1, 1).empty());
  CHECK(range<float>(1, 2.1F, 0.5F) == Row{1, 1.5, 2});
  CHECK(range<double>(0, -1, 0.5).empty());
  CHECK(range<float16>(to_float16(0), to_float16(2), to_float16(0.75F)) == Row{0, 0.75, 1.5});
  CHECK(range<std::int64_t>(INT64_MAX - 3, INT64_MAX, 2).size() == 2);
  CHECK_THROWS_AS(range<std::int64_t>(0, 1, 0), Error);
  CHECK_THROWS_AS(range<std::int64_t>(INT64_MIN, INT64_MAX, 1), Error);
  CHECK_THROWS_AS(range<double>(0, INFINITY, 1), Error);
  CHECK_THROWS_AS(range<double>(0, NAN, 1), Error);
}

TEST_CASE("Range has derivatives by start and delta") {
  check_gradient(
      {.op = "Range", .inputs = {Tensor::scalar(1.0), Tensor::scalar(3.3), Tensor::scalar(0.5)}});
}

TEST_CASE("OneHot puts one value where the index is") {
  const auto run = [](Tensor indices, std::int64_t axis) {
    return run_op_tensor({.op = "OneHot",
                          .inputs = {indices, Tensor::scalar<std::int64_t>(3),
                                     Tensor::of<float>({2}, std::vector<float>{2, 5})},
                          .attributes = {{"axis", axis}}});
  };
  CHECK(as_doubles(run(int64s({0, -1, 3}), -1)) == std::vector<double>{5, 2, 2, 2, 2, 5, 2, 2, 2});
  CHECK(as_doubles(run(int64s({0, 2}), 0)) == std::vector<double>{5, 2, 2, 2, 2, 5});
  CHECK(run(iota({2, 4}), 1).shape() == Shape{2, 3, 4});
  CHECK(as_doubles(run(Tensor::scalar(1.0F), -1)) == std::vector<double>{2, 5, 2});
  CHECK(as_doubles(run(Tensor::of<double>({2}, std::vector<double>{NAN, 1e300}), 0)) ==
        std::vector<double>(6, 2));
  CHECK_THROWS_AS(run(int64s({0}), 2), Error);
  CHECK_THROWS_AS(
      run_op_tensor(
          {.op = "OneHot", .inputs = {int64s({0}), Tensor::scalar<std::int64_t>(-1), iota({2})}}),
      Error);
  CHECK_THROWS_AS(
      run_op_tensor(
          {.op = "OneHot", .inputs = {int64s({0}), Tensor::scalar<std::int64_t>(2), iota({3})}}),
      Error);
}

TEST_CASE("OneHot has derivatives by its values") {
  check_gradient(
      {.op = "OneHot",
       .inputs = {int64s({0, 2, -1, 7}), Tensor::scalar<std::int64_t>(3), random_tensor({2}, 1)},
       .attributes = {{"axis", 0L}}});
}

TEST_CASE("Compress keeps what the condition says") {
  const Tensor x = iota({3, 4});
  CHECK(as_doubles(run_op_tensor(
            {.op = "Compress", .inputs = {x, flags({0, 1})}, .attributes = {{"axis", 0L}}})) ==
        std::vector<double>{4, 5, 6, 7});
  CHECK(run_op_tensor(
            {.op = "Compress", .inputs = {x, flags({1, 0, 0, 1})}, .attributes = {{"axis", -1L}}})
            .shape() == Shape{3, 2});
  CHECK(as_doubles(run_op_tensor({.op = "Compress", .inputs = {x, flags({0, 0, 1, 0, 1})}})) ==
        std::vector<double>{2, 4});
  CHECK_THROWS_AS(
      run_op_tensor(
          {.op = "Compress", .inputs = {x, flags({0, 1, 0, 1})}, .attributes = {{"axis", 0L}}}),
      Error);
}

TEST_CASE("Compress has derivatives") {
  const Tensor x = random_tensor({3, 4}, 1);
  check_gradient({.op = "Compress", .inputs = {x, flags({1, 0, 1})}, .attributes = {{"axis", 0L}}});
  check_gradient({.op = "Compress", .inputs = {x, flags({0, 1, 1, 0, 1, 0})}});
}

TEST_CASE("NonZero gives one column for each element that is set") {
  const Tensor x = Tensor::of<float>({2, 3}, std::vector<float>{0, 1, -0.0F, NAN, 0, 3});
  CHECK(run_op_tensor({.op = "NonZero", .inputs = {x}})
            .identical(Tensor::of<std::int64_t>({2, 3}, Int64s{0, 1, 1, 1, 0, 2})));
  CHECK(run_op_tensor({.op = "NonZero", .inputs = {flags({0, 0})}}).shape() == Shape{1, 0});
  CHECK(run_op_tensor({.op = "NonZero", .inputs = {Tensor::scalar(2.0F)}}).shape() == Shape{0, 1});
  CHECK(run_op_tensor({.op = "NonZero", .inputs = {iota({0, 2})}}).shape() == Shape{2, 0});
}

TEST_CASE("Unique finds the different elements") {
  const Tensor x = Tensor::of<float>({6}, std::vector<float>{2, 1, 1, 3, 4, 3});
  const auto run = [&](std::int64_t sorted) {
    return run_op(
        {.op = "Unique", .inputs = {x}, .attributes = {{"sorted", sorted}}, .outputs = 4});
  };
  const auto up = run(1);
  CHECK(as_doubles(up[0].tensor()) == std::vector<double>{1, 2, 3, 4});
  CHECK(as_doubles(up[1].tensor()) == std::vector<double>{1, 0, 3, 4});
  CHECK(as_doubles(up[2].tensor()) == std::vector<double>{1, 0, 0, 2, 3, 2});
  CHECK(as_doubles(up[3].tensor()) == std::vector<double>{2, 1, 2, 1});
  const auto seen = run(0);
  CHECK(as_doubles(seen[0].tensor()) == std::vector<double>{2, 1, 3, 4});
  CHECK(as_doubles(seen[1].tensor()) == std::vector<double>{0, 1, 3, 4});
  CHECK(as_doubles(seen[2].tensor()) == std::vector<double>{0, 1, 1, 2, 3, 2});
  CHECK(as_doubles(seen[3].tensor()) == std::vector<double>{1, 2, 2, 1});
}

TEST_CASE("Unique finds the different slices along an axis") {
  const Tensor x =
      Tensor::of<std::int32_t>({2, 4}, std::vector<std::int32_t>{1, 0, 1, 0, 2, 3, 2, 1});
  const auto y =
      run_op({.op = "Unique", .inputs = {x}, .attributes = {{"axis", 1L}}, .outputs = 4});
  CHECK(as_doubles(y[0].tensor()) == std::vector<double>{0, 0, 1, 1, 3, 2});
  CHECK(as_doubles(y[2].tensor()) == std::vector<double>{2, 1, 2, 0});
  const Tensor text = Tensor::of<std::string>({3}, std::vector<std::string>{"b", "a", "b"});
  CHECK(run_op_tensor({.op = "Unique", .inputs = {text}}).item<std::string>() == "a");
  CHECK(run_op_tensor({.op = "Unique", .inputs = {iota({0})}}).size() == 0);
  const Tensor nan = Tensor::of<float>({3}, std::vector<float>{NAN, 1, NAN});
  CHECK(run_op_tensor({.op = "Unique", .inputs = {nan}}).size() == 2);
}

TEST_CASE("Unique has derivatives") {
  const Tensor x = Tensor::of<double>({2, 2}, std::vector<double>{3, 1, 2, 4});
  check_gradient({.op = "Unique", .inputs = {x}});
  check_gradient({.op = "Unique", .inputs = {x}, .attributes = {{"axis", 1L}}});
}
