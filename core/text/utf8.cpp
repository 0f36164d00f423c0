#include "core/text/utf8.h"

namespace ondine {

CodePoint decode_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const CodePoint stray{byte(0), 1, false};
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return stray;
  char32_t value = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return stray;
    value = value << 6 | (byte(i) & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return stray;
  return {value, bytes, true};
}

std::size_t utf8_prefix(std::string_view text) noexcept {
  std::size_t size = 0;
  while (size < text.size()) {
    const CodePoint next = decode_utf8(text.substr(size));
    if (!next.valid) break;
    size += next.bytes;
  }
  return size;
}

void append_utf8(std::string& to, char32_t code) {
  const auto put = [&](char32_t byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace ondine
