// The checksum of zip and gzip, bit by bit (ISO 3309).
#pragma once

#include <cstdint>
#include <string_view>

namespace ondine::test {

inline std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

}  // namespace ondine::test
