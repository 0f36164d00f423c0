// Arithmetic that is defined for every value: integers wrap as in two's complement.
#pragma once

#include <concepts>
#include <cstdint>

namespace ondine::kernels {

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  } else {
    return a - b;
  }
}

template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

}  // namespace ondine::kernels
