// BatchNormalization of small planes, for tests of operators that are fused with it.
#pragma once

#include "tests/support/op_harness.h"

namespace ondine::test {

struct Normalization {
  std::vector<Value> inputs{random_tensor({2, 3, 4, 4}, 1), random_tensor({3}, 2),
                            random_tensor({3}, 3), random_tensor({3}, 4),
                            Tensor::of<double>({3}, {0.5, 1.5, 2.5})};
  // Outputs of the operator; with `train` they include the new running statistics and those of the
  // batch.
  std::vector<Value> run(bool train) const {
    return run_op({.op = "BatchNormalization",
                   .inputs = inputs,
                   .attributes = {{"training_mode", std::int64_t{train}}},
                   .outputs = 5});
  }
};

}  // namespace ondine::test
