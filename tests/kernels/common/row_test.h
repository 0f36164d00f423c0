// Comparison of a primitive with its definition in double.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/kernels/common/math_test.h"

namespace ondine::math::test {

template <class T>
std::vector<double> to_double(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

// body(pool, kernels) returns all outputs as one vector: equal bits for 1, 2 and 4 threads.
template <class T, class Body>
void check(const std::vector<double>& expected, double limit, Body&& body) {
  for (const auto* kernels : all_kernels()) {
    ThreadPool one(1), two(2), four(4);
    const std::vector<T> y = body(one, *kernels);
    INFO(isa_name(*kernels));
    CHECK(worst_error(y, expected) < limit);
    CHECK(same_bits(body(two, *kernels), y));
    CHECK(same_bits(body(four, *kernels), y));
  }
}

}  // namespace ondine::math::test
