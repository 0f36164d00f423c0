// Which factors of a product are rounded to bfloat16 before they are multiplied.
#pragma once

#include "graph/contract/kernel.h"
#include "graph/contract/op_def.h"

namespace ondine::kernels::ops {

// Bits `first` and first + 1 where the factors a and b, which are these inputs of the node, are
// float32 or bfloat16 and a product of their shapes, with the attributes transA and transB, rounds
// them in the precision that was asked for.
std::uint32_t rounded_factors(const graph::BindContext& context, std::size_t first);

// Of operators whose factors are the inputs First and First + 1.
template <std::size_t First>
inline constexpr graph::RoundedStorage rounds_factors{
    .rounds = [](const graph::BindContext& context) { return rounded_factors(context, First); }};

}  // namespace ondine::kernels::ops
