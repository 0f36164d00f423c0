// Escaping text that comes from a file; ondine/printable.h for whole texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ondine {

// A character at the beginning of a text.
struct NextCharacter {
  std::size_t bytes = 0;    // at least 1
  bool is_shown = false;    // as it is; else as an escape
  char32_t code_point = 0;  // of UTF-8; the byte where it is none
  bool is_utf8 = false;
};
// `text` has at least one byte.
NextCharacter next_character(std::string_view text);

// Appends the character, or its escape.
void append_printable(std::string& out, std::string_view text, const NextCharacter& character);

}  // namespace ondine
