// Images as bytes of .tif files.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ondine::test {

// TIFF file without compression, one strip, little-endian. `pixels` holds the data, `tags` more
// entries of one number each, which replace those of the same tag.
struct Tiff {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  std::uint32_t bits = 8;
  std::uint32_t samples = 3;
  std::vector<std::uint8_t> pixels = {};
  std::vector<std::pair<std::uint16_t, std::uint32_t>> tags = {};
};
std::vector<std::uint8_t> bytes_of(const Tiff& tiff);

// A TIFF header whose directory says the orientation alone, as EXIF has it.
std::vector<std::uint8_t> exif(std::uint32_t orientation, bool big_endian = false);

}  // namespace ondine::test
