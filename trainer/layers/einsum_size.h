// The size of the index space of an Einsum.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <ondine/shape.h>

namespace ondine::trainer {

// Product of the sizes of all indices of the equation, those after "..." included. The equation
// must fit the operands. Saturates.
std::uint64_t einsum_size(std::string_view equation, std::span<const Shape> operands);

}  // namespace ondine::trainer
