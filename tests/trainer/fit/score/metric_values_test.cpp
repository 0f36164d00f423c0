#include "trainer/fit/score/metric_values.h"

#include <array>
#include <catch2/catch.hpp>

#include <ondine/error.h>

using namespace ondine;

TEST_CASE("metrics are computed from numbers of 8 bits and more, but not from 8-bit floats") {
  CHECK(fit::metric_values(Tensor::of<std::int8_t>({2}, {-1, 2})) == std::vector<double>{-1, 2});
  CHECK(fit::metric_values(Tensor::of<bool>({2}, std::array{true, false})) ==
        std::vector<double>{1, 0});
  CHECK(fit::metric_values(Tensor::of<double>({1, 1}, {0.25})) == std::vector<double>{0.25});
  const DType dtype = GENERATE(DType::float8e4m3fn, DType::float8e5m2, DType::float8e8m0,
                               DType::float4e2m1, DType::int4, DType::uint4, DType::int2,
                               DType::uint2, DType::string, DType::complex64);
  CHECK_THROWS_WITH(fit::metric_values(Tensor(dtype, {2})),
                    Catch::Contains("metrics cannot be computed from tensors of"));
}

TEST_CASE("a metric is one number") {
  CHECK(fit::metric_value(Tensor::of<float>({1, 1}, {2.5F})) == 2.5);
  CHECK_THROWS_WITH(fit::metric_value(Tensor::of<float>({2}, {1, 2})),
                    "a metric must be one number, it has shape [2]");
}
