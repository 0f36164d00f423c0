// Functions of the table in quantize.cpp on elements of 4 bits.
#pragma once

#include <cstdint>

namespace ondine::math::ONDINE_ISA {

void unpack_4bits(std::uint8_t* y, const std::uint8_t* x, std::uint8_t sign, std::int64_t n);
void look_up_levels(float* y, const std::uint8_t* x, const float* levels, const float* scale,
                    bool each, std::int64_t n);

}  // namespace ondine::math::ONDINE_ISA
