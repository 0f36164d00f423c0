#include "core/text/utf8.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <set>
#include <string>

using namespace ondine;

namespace {

// Character encoded by the table of RFC 3629: how many bytes it takes and where its bits go.
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
    std::string appended = "x";
    append_utf8(appended, character);
    if (appended != "x" + text) ++wrong;
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

TEST_CASE("code points of every length are decoded up to their bounds") {
  struct Row {
    const char* text;
    char32_t value;
    std::size_t bytes;
  };
  for (const Row& row : {Row{"a", 'a', 1},
                         {"\x7f", 0x7f, 1},
                         {"\xc2\x80", 0x80, 2},
                         {"\xdf\xbf", 0x7ff, 2},
                         {"\xe0\xa0\x80", 0x800, 3},
                         {"\xed\x9f\xbf", 0xd7ff, 3},
                         {"\xee\x80\x80", 0xe000, 3},
                         {"\xef\xbf\xbf", 0xffff, 3},
                         {"\xf0\x90\x80\x80", 0x10000, 4},
                         {"\xf3\xbf\xbf\xbf", 0xfffff, 4},
                         {"\xf4\x80\x80\x80", 0x100000, 4},
                         {"\xf4\x8f\xbf\xbf", 0x10ffff, 4}}) {
    for (const std::string behind : {"", "x", "\x80"}) {
      const CodePoint found = decode_utf8(row.text + behind);
      INFO(std::hex << static_cast<std::uint32_t>(row.value));
      CHECK(found.valid);
      CHECK(found.value == row.value);
      CHECK(found.bytes == row.bytes);
    }
  }
}

TEST_CASE("bytes that are not UTF-8 are taken one by one") {
  for (const char* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2x", "\xc2\xc2", "\xe0\x9f\xbf",
        "\xe1\x80", "\xe1\x80x", "\xe1x\x80", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
        "\xf1\x80\x80", "\xf1\x80\x80x", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    const CodePoint found = decode_utf8(text);
    INFO(text);
    CHECK_FALSE(found.valid);
    CHECK(found.bytes == 1);
    CHECK(found.value == static_cast<unsigned char>(text[0]));
  }
}
