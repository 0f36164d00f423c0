// Storage in bfloat16 of what a graph has in float32: what each operator accepts.
#pragma once

#include <cstdint>

#include "graph/contract/kernel.h"

namespace ondine::kernels {

struct RoundedStorage {
  // Mask of float32 inputs that may be bfloat16 while others are not: they are widened on the way,
  // by rows or blocks.
  std::uint32_t reads = 0;
  // Output 0 may be bfloat16: it is rounded on the way.
  bool writes = false;
  // Where not 0: the number of an output that a plan may add, behind those of inference. It is
  // input 0, which is float32, rounded while it is read.
  std::uint8_t copy = 0;
  // Where not null: the mask of float32 inputs that the kernel rounds to bfloat16 before it
  // computes with them, so that each may have that dtype with the same results. Asks for types,
  // attributes and precision.
  std::uint32_t (*rounds)(const graph::BindContext&) = nullptr;
};

// Nothing for operators that accept none.
RoundedStorage rounded_storage(const graph::OpDef& op) noexcept;

}  // namespace ondine::kernels
