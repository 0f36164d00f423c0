#include "core/text/printable.h"

#include <ondine/printable.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text/utf8.h"

namespace ondine {
namespace {

constexpr std::string_view hex = "0123456789abcdef";

// Beyond ASCII, what acts instead of being seen. First and last.
constexpr std::array<std::pair<char32_t, char32_t>, 6> hidden{{
    {0x80, 0x9f},      // controls
    {0x61c, 0x61c},    // mark of direction of Arabic letters
    {0x200e, 0x200f},  // marks of direction
    {0x2028, 0x2029},  // separators of lines and paragraphs
    {0x202a, 0x202e},  // embeddings and overrides of direction
    {0x2066, 0x2069},  // isolates of direction
}};

bool is_hidden(char32_t code) {
  if (code < 0x80) return code < 0x20 || code == 0x7f;
  return std::any_of(hidden.begin(), hidden.end(), [&](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

}  // namespace

NextCharacter next_character(std::string_view text) {
  const CodePoint found = decode_utf8(text);
  return {found.bytes, found.valid && !is_hidden(found.value), found.value, found.valid};
}

void append_printable(std::string& out, std::string_view text, const NextCharacter& character) {
  if (character.is_shown) {
    out += text.substr(0, character.bytes);
    return;
  }
  const char32_t code = character.code_point;
  const bool is_wide = character.is_utf8 && code >= 0x80;
  out += is_wide ? "\\u" : "\\x";
  for (int shift = is_wide ? 12 : 4; shift >= 0; shift -= 4) out += hex[code >> shift & 15];
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const NextCharacter character = next_character(text);
    append_printable(out, text, character);
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace ondine
