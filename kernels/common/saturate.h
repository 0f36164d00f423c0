// Real numbers to any type, defined for every value.
#pragma once

#include <concepts>
#include <limits>

namespace ondine::kernels {

// Cut towards zero; integers saturate, NaN becomes 0.
template <class T>
T saturate(double x) {
  if constexpr (std::integral<T>) {
    if (x != x) return 0;
    // The bounds as doubles; the upper one may round up to a power of two, which is out of range.
    constexpr auto lowest = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto beyond = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    if (x <= lowest) return std::numeric_limits<T>::min();
    if (x >= beyond) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(x);
}

}  // namespace ondine::kernels
