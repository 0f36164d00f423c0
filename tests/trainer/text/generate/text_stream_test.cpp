#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/text/utf8.h"
#include "tests/trainer/text/pieces/piece_file.h"
#include "trainer/text/generate/text_stream.h"
#include "trainer/text/lossy_utf8.h"

using namespace ondine;
using namespace ondine::test;
using text::StopScanner;
using text::TextStream;
using Ids = std::vector<std::int64_t>;
using Parts = std::vector<std::string>;

namespace {

// 0 to 2 <unk>, <s>, </s>; 3 "a", 4 " b", 5 a space; the bytes from 6 on.
TextEncoding pieces() {
  PieceFile file;
  file.add_usual().add("a", -1);
  file.add(
          "\xe2\x96\x81"
          "b",
          -1)
      .add("\xe2\x96\x81", -2);
  return file.add_bytes().encoding();
}

constexpr std::int64_t first_byte = 6;

Parts parts_of(const TextEncoding& encoding, const Ids& prompt, const Ids& tokens) {
  TextStream stream(encoding, prompt);
  Parts parts;
  for (const std::int64_t token : tokens) parts.push_back(stream.add(token));
  parts.push_back(stream.finish());
  return parts;
}

std::string joined(const Parts& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

Ids bytes_from(std::int64_t first, std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(first + static_cast<unsigned char>(c));
  return ids;
}

}  // namespace

TEST_CASE("bytes of a character wait until it is whole") {
  const Parts expected{"x", "", "", "\xe2\x82\xac", "", "\xc3\xa9", ""};
  CHECK(parts_of({}, {65}, bytes_from(0, "x\xe2\x82\xac\xc3\xa9")) == expected);
  CHECK(parts_of(pieces(), {3}, bytes_from(first_byte, "x\xe2\x82\xac\xc3\xa9")) == expected);
}

TEST_CASE("bytes that make no character are replaced when it is sure that they make none") {
  CHECK(parts_of({}, {65}, bytes_from(0, "\xe2\x82x")) == Parts{"", "", "\xef\xbf\xbdx", ""});
  CHECK(parts_of({}, {65}, bytes_from(0, "\xff")) == Parts{"\xef\xbf\xbd", ""});
  CHECK(parts_of({}, {65}, bytes_from(0, "y\xf0\x9f")) == Parts{"y", "", "", "\xef\xbf\xbd"});
  CHECK(joined(parts_of(pieces(), {3}, bytes_from(first_byte, "\xc3\xa9\xc3"))) ==
        "\xc3\xa9\xef\xbf\xbd");
}

TEST_CASE("a piece keeps the space before it after a prompt, and a control piece has no text") {
  CHECK(parts_of(pieces(), {3}, {4, 2, 5, 3, 4}) == Parts{" b", "", " ", "a", " b", ""});
}

TEST_CASE("the parts of a long text are the whole text") {
  const TextEncoding encoding = pieces();
  Ids tokens;
  for (int i = 0; i < 400; ++i) {
    const Ids more = i % 7 == 0   ? bytes_from(first_byte, "\xe6\xbc\xa2")
                     : i % 5 == 0 ? Ids(20, 5)
                     : i % 2 == 0 ? Ids{4}
                                  : Ids{3};
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  Ids all{3, 4};
  const std::string prompt = encoding.decode(all);
  all.insert(all.end(), tokens.begin(), tokens.end());
  const Parts parts = parts_of(encoding, {3, 4}, tokens);
  CHECK(prompt + joined(parts) == encoding.decode(all));
  for (const std::string& part : parts) CHECK(is_utf8(part));
}

TEST_CASE("a character that ends a text is whole or not") {
  CHECK(text::whole_characters("") == 0);
  CHECK(text::whole_characters("ab") == 2);
  CHECK(text::whole_characters("a\xc3") == 1);
  CHECK(text::whole_characters("a\xf0\x9f\x98") == 1);
  CHECK(text::whole_characters("a\xf0\x9f\x98\x80") == 5);
  CHECK(text::whole_characters("a\xe0\x80") == 3);  // no character begins so
  CHECK(text::whole_characters("a\xff") == 2);
  CHECK(text::whole_characters("\x80") == 1);
}

TEST_CASE("a stop text is found across parts, and what it could begin with waits") {
  const Parts stops{"END", "ND!"};
  StopScanner scanner(stops);
  CHECK(scanner.add("a E") == "a ");
  CHECK(scanner.add("x E") == "Ex ");
  CHECK(scanner.add("N") == "");
  CHECK_FALSE(scanner.found());
  CHECK(scanner.add("D and more") == "");
  CHECK(scanner.found());

  StopScanner overlapping(stops);
  CHECK(overlapping.add("EN") == "");
  CHECK(overlapping.add("N") == "EN");
  CHECK(overlapping.add("D!") == "");
  CHECK(overlapping.found());

  StopScanner unfinished(stops);
  CHECK(unfinished.add("the EN") == "the ");
  CHECK(unfinished.finish() == "EN");
  StopScanner none({});
  CHECK(none.add("END") == "END");
}
