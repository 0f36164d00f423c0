#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/secure/secret_numbers.h"
#include "core/to_doubles.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

OpCase drawn(DType dtype, const Shape& shape) {
  return {.op = "SecretNormalLike",
          .inputs = {Tensor(dtype, shape)},
          .attributes = {{"mean", 3.0F}, {"scale", 0.5F}},
          .domain = "ai.ondine",
          .version = 1};
}

}  // namespace

TEST_CASE("SecretNormalLike draws normal numbers of a mean and deviation in each type") {
  SecretKey key;
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const SecretScope scope(&key);
    const auto numbers = *to_doubles(run_op_tensor(drawn(dtype, {40'001})));
    double sum = 0, squares = 0;
    for (const double one : numbers) {
      sum += one;
      squares += (one - 3) * (one - 3);
    }
    const auto n = static_cast<double>(numbers.size());
    CHECK(sum / n == Approx(3).margin(5 * 0.5 / std::sqrt(n)));
    CHECK(squares / n == Approx(0.25).epsilon(5 * std::sqrt(2 / n)));
  }
}

TEST_CASE("SecretNormalLike draws the same for a call and another for the next") {
  SecretKey key;
  std::set<float> seen;
  for (int call = 0; call < 3; ++call) {
    const SecretScope scope(&key);
    const Tensor first = run_op_tensor(drawn(DType::float32, {5}));
    CHECK(first.identical(run_op_tensor(drawn(DType::float32, {5}))));
    for (const float one : first.values<float>()) seen.insert(one);
  }
  CHECK(seen.size() == 15);
}

TEST_CASE("SecretNormalLike without a key, and of integers, fails") {
  CHECK_THROWS_WITH(run_op(drawn(DType::float32, {2})), Contains("outside of a call"));
  CHECK_THROWS_WITH(run_op(drawn(DType::int32, {2})), Contains("secret normal numbers of dtype"));
}
