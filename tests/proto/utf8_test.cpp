#include "proto/utf8.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <set>
#include <string>

using namespace ondine;

namespace {

// By the table of RFC 3629: how many bytes a character takes and where its bits go.
std::string encoded(std::uint32_t character) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto rest = [&](int shift) { return byte(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x80) return {byte(character)};
  if (character < 0x800) return {byte(0xc0 | character >> 6), rest(0)};
  if (character < 0x10000) return {byte(0xe0 | character >> 12), rest(6), rest(0)};
  return {byte(0xf0 | character >> 18), rest(12), rest(6), rest(0)};
}

bool is_surrogate(std::uint32_t character) { return character >= 0xd800 && character < 0xe000; }

}  // namespace

TEST_CASE("every character has a form in UTF-8, and every part of the form is too short") {
  std::size_t wrong = 0;
  for (std::uint32_t character = 0; character < 0x110000; ++character) {
    const std::string text = encoded(character);
    if (is_utf8(text) == is_surrogate(character)) ++wrong;
    for (std::size_t size = 1; size < text.size(); ++size) {
      if (utf8_prefix(std::string_view(text).substr(0, size)) != 0) ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK_FALSE(is_utf8(encoded(0x110000)));
}

TEST_CASE("no two or three bytes are UTF-8 but the forms of characters") {
  std::set<std::string> forms;
  for (std::uint32_t character = 0x80; character < 0x10000; ++character) {
    if (!is_surrogate(character)) forms.insert(encoded(character));
  }
  std::size_t wrong = 0;
  for (int lead = 0x80; lead < 0x100; ++lead) {
    for (int second = 0; second < 0x100; ++second) {
      const std::string two{static_cast<char>(lead), static_cast<char>(second)};
      if (is_utf8(two) != forms.contains(two)) ++wrong;
      for (const int third : {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff}) {
        const std::string three = two + static_cast<char>(third);
        const bool letter_behind = third < 0x80 && forms.contains(two);
        if (is_utf8(three) != (letter_behind || forms.contains(three))) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("the prefix ends before the first character that is no UTF-8") {
  CHECK(utf8_prefix("") == 0);
  CHECK(utf8_prefix("plain") == 5);
  CHECK(utf8_prefix("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a") == 10);
  CHECK(utf8_prefix("a\xc3\xa4\xe2\x82") == 3);
  CHECK(utf8_prefix("ab\x80z") == 2);
  CHECK(utf8_prefix("ab\xf0\x9f\x8c") == 2);
  CHECK(utf8_prefix("\xc3\xa4\xed\xa0\x80") == 2);
}
