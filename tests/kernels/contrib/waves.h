// Inputs that other programs can make too: sin(0.7 i + phase) for element i.
#pragma once

#include <cmath>
#include <vector>

#include <ondine/tensor.h>

namespace ondine::test {

inline Tensor wave(const Shape& shape, double phase) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + phase)));
  }
  return Tensor::of<float>(shape, values);
}

inline constexpr const char* contrib = "com.microsoft";

}  // namespace ondine::test
