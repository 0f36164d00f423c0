#pragma once

#include <string_view>

namespace ondine {

// The bytes before the first character that is not well-formed UTF-8 (overlong forms, surrogates
// and what is above U+10FFFF are not); the size of the text where there is none.
std::size_t utf8_prefix(std::string_view text) noexcept;

inline bool is_utf8(std::string_view text) noexcept { return utf8_prefix(text) == text.size(); }

}  // namespace ondine
