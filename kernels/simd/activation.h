// Activation that follows a product, a convolution or a normalization before a result is stored.
#pragma once

#include <cstdint>

namespace ondine::math {

enum class Activation : std::uint8_t {
  none,
  relu,
  relu6,       // min(max(v, 0), 6)
  bounds,      // min(max(v, low), high), by a descriptor's bounds
  hard_swish,  // v min(1, max(0, v / 6 + 1/2))
  swish,       // v / (1 + e^(-alpha v))
};

// Whether products apply the activation themselves.
constexpr bool is_epilogue(Activation activation) noexcept {
  return activation <= Activation::relu6;
}

}  // namespace ondine::math
