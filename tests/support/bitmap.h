// Images as bytes of .bmp files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ondine::test {

// A .bmp of 24 bits; `rgb` row by row from the top.
std::string bitmap(std::uint32_t width, std::uint32_t height,
                   const std::vector<std::array<unsigned, 3>>& rgb);

}  // namespace ondine::test
