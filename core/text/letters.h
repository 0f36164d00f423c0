#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ondine {

// Letters of ASCII, in any locale.
constexpr char lower_letter(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

inline std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), lower_letter);
  return text;
}

// Whether a text is a word of lower-case letters, however its own letters are written.
inline bool is_word(std::string_view text, std::string_view lower_word) {
  return std::ranges::equal(text, lower_word, {}, lower_letter);
}

}  // namespace ondine
