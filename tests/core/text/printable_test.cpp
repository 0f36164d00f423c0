#include <ondine/printable.h>

#include <catch2/catch.hpp>

#include "core/message.h"

using namespace ondine;

TEST_CASE("what acts on a terminal becomes an escape, letters stay") {
  CHECK(printable("") == "");
  CHECK(printable("plain 'text' \\ ~") == "plain 'text' \\ ~");
  CHECK(printable("\x1b[31m\a\r\n\t\x7f") == "\\x1b[31m\\x07\\x0d\\x0a\\x09\\x7f");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80") ==
        "\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80");
}

TEST_CASE("controls of two bytes, marks and overrides of direction become escapes") {
  CHECK(printable("\xc2\x9b") == "\\u009b");
  CHECK(printable("\xc2\x80\xc2\x9f\xc2\xa0") == "\\u0080\\u009f\xc2\xa0");
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a\\u202eb");
  for (const char32_t code : {0x200eU, 0x200fU, 0x2028U, 0x2029U, 0x202aU, 0x202bU, 0x202cU,
                              0x202dU, 0x202eU, 0x2066U, 0x2067U, 0x2068U, 0x2069U}) {
    const std::string text{static_cast<char>(0xe0 | code >> 12),
                           static_cast<char>(0x80 | (code >> 6 & 0x3f)),
                           static_cast<char>(0x80 | (code & 0x3f))};
    INFO(static_cast<unsigned>(code));
    CHECK(printable(text).size() == 6);
    CHECK(quoted(text).size() == 8);
  }
  CHECK(printable("\xd8\x9c") == "\\u061c");
  // Neighbours.
  CHECK(printable("\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa") ==
        "\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa");
}

TEST_CASE("bytes that are no UTF-8 become escapes, each by itself") {
  CHECK(printable("\x80\xff\xfe") == "\\x80\\xff\\xfe");
  CHECK(printable("\xc3") == "\\xc3");
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");
  CHECK(printable("\xc3(") == "\\xc3(");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // longer than need be
  CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");  // the same of three bytes
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("\xf8\x88\x80\x80\x80") == "\\xf8\\x88\\x80\\x80\\x80");
}

TEST_CASE("no text of any two bytes leaves a control character") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string out =
          printable(std::string{static_cast<char>(first), static_cast<char>(second)});
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto byte = static_cast<unsigned char>(out[i]);
        REQUIRE((byte >= 0x20 && byte != 0x7f));
        if (byte == 0xc2) REQUIRE(static_cast<unsigned char>(out.at(i + 1)) >= 0xa0);
      }
    }
  }
}

TEST_CASE("quoted text is not cut within a letter") {
  std::string text(119, 'x');
  text += "\xc3\xa9";
  CHECK(quoted(text) == "'" + std::string(119, 'x') + "...(121 bytes)'");
  CHECK(quoted(std::string(118, 'x') + "\xc3\xa9") == "'" + std::string(118, 'x') + "\xc3\xa9'");
}
