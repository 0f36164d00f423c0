// Small pictures inside a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ondine::records {

// A PNG file (ISO/IEC 15948) of 8 bits a sample with stored, not compressed, rows. channels: 1 for
// grey or 3 for red, green and blue; pixels in rows from the top, the channels of one together.
std::string png_file(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height,
                     std::size_t channels);

}  // namespace ondine::records
