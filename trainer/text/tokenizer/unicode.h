// Properties and forms of characters, by utf8proc.
#pragma once

#include <string>
#include <string_view>

namespace ondine::text::tokenizer {

// Error(unsupported) where this build lacks the library.
void require_unicode();

// As White_Space of Unicode.
bool is_space(char32_t c) noexcept;
bool is_number(char32_t c) noexcept;       // Nd, Nl, No
bool is_punctuation(char32_t c) noexcept;  // P* and every mark of ASCII
bool is_mark(char32_t c) noexcept;         // M*
bool is_nonspacing_mark(char32_t c) noexcept;
bool is_control(char32_t c) noexcept;  // Cc, Cf, Co
bool is_word(char32_t c) noexcept;     // \w: letters, marks, decimal digits, connectors

// Character by character: a final sigma is as any other.
std::string lowercase(std::string_view text);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string normal_form(std::string_view text, NormalForm form);

// Bytes of the first grapheme cluster of a text that is not empty.
std::size_t grapheme_bytes(std::string_view text);

}  // namespace ondine::text::tokenizer
