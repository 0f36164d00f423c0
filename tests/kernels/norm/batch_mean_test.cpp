#include <catch2/catch.hpp>

#include "core/random/row_scope.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

OpCase batch_mean(const Value& x) {
  return {.op = "BatchMean",
          .inputs = {x, Tensor::scalar(0.0F)},
          .outputs = 2,
          .domain = "ai.ondine",
          .version = 1};
}

// A part among others whose means are all 3: a quarter of the batch.
class Quarter final : public PartMeans {
 public:
  void mean(std::span<double> values) override {
    ++calls;
    for (double& value : values) value = 0.25 * value + 0.75 * 3;
  }
  int calls = 0;
};

class Alone final : public PartMeans {
 public:
  void mean(std::span<double>) override {}
};

}  // namespace

TEST_CASE("BatchMean gives what all parts of a batch have, once for each node") {
  Quarter means;
  const RowScope scope({0, 0, 2, &means}, 0);
  const Tensor y = run_op(batch_mean(Tensor::of<float>({3}, {1, -3, 7})))[0].tensor();
  CHECK(y.identical(Tensor::of<float>({3}, {2.5F, 1.5F, 4})));
  CHECK(means.calls > 0);
}

TEST_CASE("the derivative of BatchMean is the mean of derivatives") {
  Alone means;
  const RowScope scope({0, 0, 2, &means}, 0);
  check_gradient(batch_mean(random_tensor({2, 3}, 1)));
}

TEST_CASE("BatchMean outside of a batch in parts, and of halves, fails") {
  CHECK_THROWS_WITH(run_op(batch_mean(Tensor::of<float>({1}, {1}))), Contains("in parts"));
  CHECK_THROWS_WITH(run_op(batch_mean(Tensor(DType::float16, {2}))),
                    Contains("means over a batch of dtype float16"));
}
