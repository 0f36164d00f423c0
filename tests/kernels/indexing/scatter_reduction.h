// Definition of the reductions of ScatterElements and ScatterND for two numbers.
#pragma once

#include <algorithm>
#include <string_view>

namespace ondine::test {

// `a` is the element before; `b` is the update, which replaces it under "none".
inline double combine(std::string_view reduction, double a, double b) {
  if (reduction == "add") return a + b;
  if (reduction == "mul") return a * b;
  if (reduction == "max") return std::max(a, b);
  if (reduction == "min") return std::min(a, b);
  return b;
}

}  // namespace ondine::test
