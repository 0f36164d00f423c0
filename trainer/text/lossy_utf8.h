// Bytes as UTF-8, where not all of them make characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ondine::text {

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

// Bytes of `text` that a character begins with, at least 1: all of a well-formed one, else the
// longest part that a character could go on from. The text must not be empty.
std::size_t begun_character(std::string_view text) noexcept;

// UTF-8 in which each longest part that no character begins with is one U+FFFD, as Rust has it.
std::string lossy_utf8(std::string_view bytes);

// The bytes before those at the end that further ones could make a character.
std::size_t whole_characters(std::string_view bytes) noexcept;

}  // namespace ondine::text
