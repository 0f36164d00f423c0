// Operands of ConvChain: of 6 channels of planes of
// `size` x `size`, from 3 of x and to 4 of y.
#pragma once

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

struct BottleneckOperands {
  explicit BottleneckOperands(std::int64_t size, std::int64_t stride = 1)
      : window{{"group", std::int64_t{6}},
               {"pads", std::vector<std::int64_t>(4, 1)},
               {"strides", std::vector<std::int64_t>(2, stride)}},
        x(random_tensor({2, 3, size, size}, 1)) {}

  inline static const std::string domain{graph::ondine_domain};
  graph::Attributes window;
  Tensor x;
  Tensor pointwise = random_tensor({6, 3, 1, 1}, 2), inner_bias = random_tensor({6}, 3);
  Tensor depthwise = random_tensor({6, 1, 3, 3}, 4), bias = random_tensor({6}, 5);
  Tensor projection = random_tensor({4, 6, 1, 1}, 6), projection_bias = random_tensor({4}, 7);
};

}  // namespace ondine::test
