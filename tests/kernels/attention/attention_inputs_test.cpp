#include <catch2/catch.hpp>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("Attention has derivatives by its mask and its past") {
  const std::vector<Value> inputs{random_tensor({1, 2, 3, 4}, 1), random_tensor({1, 2, 2, 4}, 2),
                                  random_tensor({1, 2, 2, 5}, 3), random_tensor({3, 4}, 4),
                                  random_tensor({1, 2, 2, 4}, 5), random_tensor({1, 2, 2, 5}, 6)};
  check_gradient({.op = "Attention", .inputs = inputs, .outputs = 3},
                 {.order = 2, .elements = 6, .variants = false});
}
