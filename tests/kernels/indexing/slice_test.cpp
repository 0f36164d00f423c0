#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor sliced(const Tensor& x, Int64s starts, Int64s ends, Int64s axes, Int64s steps) {
  return run_op_tensor(
      {.op = "Slice", .inputs = {x, int64s(starts), int64s(ends), int64s(axes), int64s(steps)}});
}

// The positions along one axis, found by walking. Python's, but for a start before the axis with a
// negative step: the standard clamps it to the first element.
Int64s positions(std::int64_t n, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at += n;
    if (step > 0) return std::clamp<std::int64_t>(at, 0, n);
    return std::clamp<std::int64_t>(at, -1, n - 1);
  };
  Int64s out;
  for (auto i = std::max<std::int64_t>(0, clamp(start)); step > 0 ? i < clamp(end) : i > clamp(end);
       i += step) {
    out.push_back(i);
  }
  return out;
}

}  // namespace

TEST_CASE(
    "Slice takes what a walk along the axis meets, for all starts, ends and steps around an axis") {
  const Tensor x = iota<std::int32_t>({5});
  for (std::int64_t start = -7; start <= 7; ++start) {
    for (std::int64_t end = -7; end <= 7; ++end) {
      for (const std::int64_t step : {1, 2, 3, 9, -1, -2, -3, -9}) {
        const auto want = positions(5, start, end, step);
        const Tensor y = sliced(x, {start}, {end}, {0}, {step});
        INFO(start << ":" << end << ":" << step);
        REQUIRE(y.size() == static_cast<std::int64_t>(want.size()));
        for (std::size_t i = 0; i < want.size(); ++i) {
          REQUIRE(y.values<std::int32_t>()[i] == want[i]);
        }
      }
    }
  }
}

TEST_CASE("Slice clamps the largest numbers") {
  const Tensor x = iota({4});
  CHECK(sliced(x, {0}, {INT64_MAX}, {0}, {1}).identical(x));
  CHECK(sliced(x, {INT64_MIN}, {INT64_MAX}, {0}, {INT64_MAX}).size() == 1);
  CHECK(sliced(x, {INT64_MAX}, {INT64_MIN}, {0}, {-1}).item<float>() == 3);
  CHECK(sliced(x, {INT64_MAX}, {INT64_MIN}, {0}, {INT64_MIN}).size() == 1);
  CHECK(sliced(iota({0}), {0}, {5}, {0}, {1}).size() == 0);
  CHECK(sliced(iota({0}), {5}, {-9}, {0}, {-1}).size() == 0);
}

TEST_CASE("Slice works on several axes, on strings and without axes") {
  const Tensor x = iota_strings({3, 4, 2});
  const Tensor y = sliced(x, {-1, 1}, {-5, 4}, {0, -2}, {-2, 2});
  CHECK(y.identical(moved<std::string>(x, {2, 2, 2}, [](const Int64s& i) {
    return Int64s{2 - 2 * i[0], 1 + 2 * i[1], i[2]};
  })));
  CHECK(run_op_tensor({.op = "Slice", .inputs = {x, int64s({1, 2}), int64s({3, 3})}}).shape() ==
        Shape{2, 1, 2});
  CHECK(run_op_tensor(
            {.op = "Slice",
             .inputs = {x},
             .attributes = {{"starts", Int64s{1}}, {"ends", Int64s{-1}}, {"axes", Int64s{1}}},
             .version = 1})
            .shape() == Shape{3, 2, 2});
}

TEST_CASE("Slice rejects step 0, unequal numbers and bad axes") {
  const Tensor x = iota({3, 4});
  CHECK_THROWS_AS(sliced(x, {0}, {1}, {0}, {0}), Error);
  CHECK_THROWS_AS(sliced(x, {0}, {1, 2}, {0}, {1}), Error);
  CHECK_THROWS_AS(sliced(x, {0}, {1}, {0, 1}, {1}), Error);
  CHECK_THROWS_AS(sliced(x, {0}, {1}, {2}, {1}), Error);
  CHECK_THROWS_AS(sliced(x, {0, 0}, {1, 1}, {0, -2}, {1, 1}), Error);
}

TEST_CASE("Slice has derivatives") {
  const Tensor x = random_tensor({3, 5}, 1);
  check_gradient(
      {.op = "Slice", .inputs = {x, int64s({1}), int64s({4}), int64s({1}), int64s({2})}});
  check_gradient(
      {.op = "Slice",
       .inputs = {x, int64s({-1, 0}), int64s({-9, 2}), int64s({1, 0}), int64s({-2, 1})}});
  check_gradient({.op = "Slice", .inputs = {x, int64s({1}), int64s({2})}});
  check_gradient({.op = "Slice",
                  .inputs = {x},
                  .attributes = {{"starts", Int64s{1}}, {"ends", Int64s{4}}, {"axes", Int64s{-1}}},
                  .version = 1});
}
