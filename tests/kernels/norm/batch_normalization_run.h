// BatchNormalization of small planes, for what is fused with it.
#pragma once

#include "tests/support/op_harness.h"

namespace ondine::test {

struct Normalization {
  std::vector<Value> inputs{random_tensor({2, 3, 4, 4}, 1), random_tensor({3}, 2),
                            random_tensor({3}, 3), random_tensor({3}, 4),
                            Tensor::of<double>({3}, {0.5, 1.5, 2.5})};
  // With training: what the running ones become, and the statistics of the batch.
  std::vector<Value> run(bool train) const {
    return run_op({.op = "BatchNormalization",
                   .inputs = inputs,
                   .attributes = {{"training_mode", std::int64_t{train}}},
                   .outputs = 5});
  }
};

}  // namespace ondine::test
