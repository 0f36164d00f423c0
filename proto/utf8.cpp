#include "proto/utf8.h"

#include <cstdint>

namespace ondine {

std::size_t utf8_prefix(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t start = i;
    const auto lead = static_cast<std::uint8_t>(text[i++]);
    if (lead < 0x80) continue;
    // The second byte is restricted for the first and last lead byte of each length (RFC 3629).
    std::uint8_t low = 0x80;
    std::uint8_t high = 0xbf;
    std::size_t more = 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
      more = 1;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      more = 2;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      more = 3;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else {
      return start;
    }
    if (text.size() - i < more) return start;
    for (; more > 0; --more) {
      const auto byte = static_cast<std::uint8_t>(text[i++]);
      if (byte < low || byte > high) return start;
      low = 0x80;
      high = 0xbf;
    }
  }
  return i;
}

}  // namespace ondine
