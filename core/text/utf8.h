// UTF-8 as RFC 3629 has it: overlong forms, surrogates and what is above U+10FFFF are not
// well-formed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ondine {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;  // otherwise `value` is one stray byte
};
// The first code point of `text`, which must not be empty.
CodePoint decode_utf8(std::string_view text) noexcept;

// The bytes before the first character that is not well-formed; the size of the text where there is
// none.
std::size_t utf8_prefix(std::string_view text) noexcept;

inline bool is_utf8(std::string_view text) noexcept { return utf8_prefix(text) == text.size(); }

// `code` is one of Unicode.
void append_utf8(std::string& to, char32_t code);

}  // namespace ondine
