// UTF-8 at the bounds of what it encodes.
#include "kernels/text/unicode.h"

#include <catch2/catch.hpp>

using ondine::kernels::CodePoint;
using ondine::kernels::decode_utf8;
using ondine::kernels::leading_space;

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
    CHECK(leading_space(text) == 0);
  }
}

TEST_CASE("white space is that of Unicode") {
  for (const char* space : {"\t", "\n", "\v", "\f", "\r", " ", "\xc2\x85", "\xc2\xa0",
                            "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x8a", "\xe2\x80\xa8",
                            "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"}) {
    INFO(space);
    CHECK(leading_space(std::string(space) + "a") == std::string(space).size());
  }
  for (const char* text : {"", "a", "\x08", "\x0e", "\x1f", "!", "\xc2\x84", "\xc2\x86", "\xc2\xa1",
                           "\xe2\x80\x8b", "\xe2\x80\xa7", "\xe2\x80\xaa"}) {
    INFO(text);
    CHECK(leading_space(text) == 0);
  }
}
