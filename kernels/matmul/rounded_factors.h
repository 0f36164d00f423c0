// Which factors of a product are rounded to bfloat16 before they are multiplied, and where its
// result can be.
#pragma once

#include "graph/contract/kernel.h"
#include "graph/contract/op_def.h"

namespace ondine::kernels::ops {

// Inputs `first` and first + 1, the factors a and b of the node, where they are float32 or bfloat16
// and a product of their shapes, with the attributes transA and transB, rounds them in the
// precision that was asked for.
graph::RoundedInputs rounded_factors(const graph::BindContext& context, std::size_t first);

// How the product of the inputs 0 and 1 may be rounded: not at all where the kernel sums its terms
// in several blocks; a sum with input `addend`, of the same shape, only where all readers round it.
graph::RoundedResult rounded_product(const graph::BindContext& context, std::size_t addend);

// Storage of operators whose factors are the inputs First and First + 1.
template <std::size_t First>
inline constexpr graph::RoundedStorage rounds_factors{
    .inputs = [](const graph::BindContext& context) { return rounded_factors(context, First); }};

// Storage of operators whose factors are the inputs 0 and 1 and whose output 0 is their product.
template <std::size_t Addend>
inline constexpr graph::RoundedStorage rounds_product{
    .inputs = rounds_factors<0>.inputs,
    .result = [](const graph::BindContext& context) { return rounded_product(context, Addend); }};

}  // namespace ondine::kernels::ops
