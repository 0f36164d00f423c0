#include "core/printable.h"

#include <ondine/printable.h>

#include <algorithm>
#include <array>
#include <utility>

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

// Bytes of a character, by its first; 0 for a byte that begins none.
std::size_t length_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc0 || first >= 0xf8) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

}  // namespace

NextCharacter next_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  NextCharacter result{1, false, first, false};
  const std::size_t length = length_from(first);
  if (length == 0 || length > text.size()) return result;
  char32_t code = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return result;
    code = code << 6 | (byte & 0x3f);
  }
  // The shortest form only, no surrogates, nothing beyond Unicode.
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return result;
  return {length, !is_hidden(code), code, true};
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
