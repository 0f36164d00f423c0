// The characters of byte-level tokens (A. Radford et al., 2019): printable bytes of Latin-1 stand
// for themselves, the others for what follows U+0100.
#include <array>

#include "core/text/utf8.h"
#include "trainer/text/tokenizer/split.h"

namespace ondine::text::tokenizer {
namespace {

struct ByteTable {
  ByteTable() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned i = 0; i < 256; ++i) {
      const bool is_printable =
          (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || (i >= 0xae && i <= 0xff);
      const char32_t c = is_printable ? i : next++;
      append_utf8(characters[i], c);
      bytes[c] = static_cast<std::int16_t>(i);
    }
  }

  std::array<std::string, 256> characters;
  std::array<std::int16_t, 0x150> bytes{};
};

const ByteTable& table() {
  static const ByteTable table;
  return table;
}

}  // namespace

std::string_view byte_character(unsigned char byte) { return table().characters[byte]; }

int byte_of_character(char32_t c) { return c < table().bytes.size() ? table().bytes[c] : -1; }

void append_byte_characters(std::string& to, std::string_view text) {
  const ByteTable& known = table();
  for (const char c : text) to += known.characters[static_cast<unsigned char>(c)];
}

}  // namespace ondine::text::tokenizer
