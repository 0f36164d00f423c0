// Tensors whose elements are written as bits.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ondine/tensor.h>

namespace ondine::test {

// A vector whose elements have these bits.
template <class Bits>
Tensor with_bits(DType dtype, const std::vector<Bits>& bits) {
  Tensor tensor(dtype, {static_cast<std::int64_t>(bits.size())});
  REQUIRE(tensor.bytes() == bits.size() * sizeof(Bits));
  std::memcpy(tensor.mutable_data(), bits.data(), tensor.bytes());
  return tensor;
}

}  // namespace ondine::test
