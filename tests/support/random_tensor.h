#pragma once

#include <cstdint>

#include <ondine/tensor.h>

namespace ondine::test {

// Deterministic values, different for each seed.
Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low = -2, double high = 2);
Tensor random_floats(const Shape& shape, std::uint64_t seed, float low = -2, float high = 2);

}  // namespace ondine::test
