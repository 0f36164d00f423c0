// Ids and texts here are those of version 0.2.3 of the sentencepiece package for the same files.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/random/random.h"
#include "tests/trainer/text/pieces/piece_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Ids = std::vector<std::int64_t>;

PieceFile words() {
  PieceFile file;
  file.add_usual().add("▁", -2).add("▁he", -3.5F).add("llo", -4).add("l", -5).add("o", -5.5F);
  file.add("h", -6).add("e", -6).add("▁hello", -9).add("▁w", -4).add("or", -3).add("ld", -3.5F);
  file.add("[x]", 0, user_defined).add("w", -6).add("▁world", -0.5F, unused).add("a", -3);
  return file.add("b", -3).add("ab", -6);
}

PieceFile merges() {
  PieceFile file;
  file.trainer = number_field(3, bpe);
  file.add_usual().add("bc", 0).add("ab", -1).add("abc", -2).add("▁a", -3);
  file.add("▁abc", -4, unused).add("aa", -5).add("▁", -6).add("a", -7).add("b", -8);
  return file.add("c", -9);
}

}  // namespace

TEST_CASE("unigram pieces are those with the largest sum of scores") {
  const TextEncoding encoding = words().encoding();
  CHECK(encoding.name() == "sentencepiece");
  CHECK(encoding.size() == 20);
  CHECK(encoding.padding_id() == 2);
  CHECK(encoding.encode("hello  world ") == Ids{4, 5, 11, 12, 13});
  CHECK(encoding.encode("") == Ids{});
  CHECK(encoding.encode("   ") == Ids{});
  // The longer last piece wins between equal sums.
  CHECK(encoding.encode("ab") == Ids{3, 19});
}

TEST_CASE("user-defined pieces always win and are not changed") {
  const TextEncoding encoding = words().encoding();
  CHECK(encoding.encode("hello[x]hello") == Ids{4, 5, 14, 8, 9, 5});
  PieceFile file = words();
  file.normalizer = block_field(2, charsmap({{"x", "o"}, {"[", ""}}));
  // Only outside of the piece.
  CHECK(file.encoding().encode("[x]x[") == Ids{3, 14, 7});
  CHECK(file.encoding().encode("x[x") == Ids{3, 7, 7});
}

TEST_CASE("a user-defined piece scores 0.1 for each byte but the first") {
  for (const float score : {-0.05F, 0.05F}) {
    PieceFile file;
    file.add_usual().add("▁", 0).add("a", 0, user_defined).add("b", 0).add("ab", score);
    file.add("cd", 0, user_defined).add("c", 0.08F).add("d", 0.01F).add("cde", 0.095F);
    const TextEncoding encoding = file.add("e", 0).encoding();
    // 0 for two pieces against the score of one; 0.1 against 0.09, and against 0.095.
    CHECK(encoding.encode("ab") == (score > 0 ? Ids{3, 6} : Ids{3, 4, 5}));
    CHECK(encoding.encode("cd") == Ids{3, 7});
    CHECK(encoding.encode("cde") == Ids{3, 7, 11});
  }
}

TEST_CASE("neighbouring unknown characters are one id, or one for each byte") {
  CHECK(words().encoding().encode("héé o") == Ids{3, 8, 0, 3, 7});
  PieceFile file = words();
  file.add_bytes();
  CHECK(file.encoding().encode("hé o") == Ids{3, 8, 20 + 0xc3, 20 + 0xa9, 3, 7});
  CHECK(file.encoding().decode(Ids{3, 8, 20 + 0xc3, 20 + 0xa9, 3, 7}) == "hé o");
}

TEST_CASE("BPE merges the two neighbours with the largest score, the first of equal ones") {
  const TextEncoding encoding = merges().add("x▁y", 0, user_defined).encoding();
  CHECK(encoding.encode("a") == Ids{6});
  // bc, then abc, then an unused piece, which is taken apart again.
  CHECK(encoding.encode("abc") == Ids{9, 5});
  CHECK(encoding.encode("aaa") == Ids{6, 8});
  CHECK(encoding.encode("baaab") == Ids{9, 11, 8, 4});
  CHECK(encoding.encode("cx▁yc  ?!") == Ids{9, 12, 13, 12, 9, 0});
  CHECK(encoding.encode("cx yc") == Ids{9, 12, 13, 12});
}

TEST_CASE("characters are replaced by the longest rule before texts are cut") {
  PieceFile file = words();
  file.normalizer =
      block_field(2, charsmap({{"A", "a"}, {"AB", "hello"}, {"ß", "or"}, {"\n", " "}, {"\t", ""}}));
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.encode("ABß") == Ids{4, 5, 12});
  CHECK(encoding.encode("A\tA") == Ids{3, 17, 17});
  CHECK(encoding.encode("\n\nA\n\n b\n") == Ids{3, 17, 3, 18});
}

TEST_CASE("spaces are treated as the file says") {
  const auto encode = [](const std::string& normalizer, const std::string& text) {
    PieceFile file = words();
    file.normalizer = normalizer;
    return file.encoding().encode(text);
  };
  CHECK(encode(number_field(3, 0), " hello  o ") == Ids{8, 9, 5, 3, 7});
  CHECK(encode(number_field(4, 0), " o  o ") == Ids{3, 3, 7, 3, 3, 7, 3});
  CHECK(encode(number_field(5, 0), " o o ") == Ids{0, 7, 0, 7});
  PieceFile file = words();
  file.trainer += number_field(24, 1);
  CHECK(file.encoding().encode(" o  o ") == Ids{7, 3, 7, 3});
}

TEST_CASE("pieces are decoded with their spaces, without the one that was put in front") {
  const TextEncoding encoding = words().encoding();
  CHECK(encoding.decode(Ids{4, 5, 11, 12, 13}) == "hello world");
  CHECK(encoding.decode(Ids{}) == "");
  CHECK(encoding.decode(Ids{1, 4, 0, 2, 16}) == "he \xe2\x81\x87  world");
  CHECK(encoding.decode(Ids{3, 3, 7, 3}) == "o ");
  CHECK_THROWS_WITH(encoding.decode(Ids{20}), Contains("id 20 is none of 20"));
  CHECK_THROWS_WITH(encoding.decode(Ids{-1}), Contains("id -1"));
  PieceFile file = words();
  file.normalizer = number_field(4, 0);
  file.trainer += block_field(44, "?");
  CHECK(file.encoding().decode(Ids{3, 3, 7, 3, 0}) == " o ?");
}

TEST_CASE("bytes that make no character are decoded as U+FFFD") {
  PieceFile file = merges();
  file.add_bytes();
  const auto of = [](int value) { return std::int64_t{13} + value; };
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.decode(Ids{of(0xe2), of(0x82), of(0xac), of('!')}) == "€!");
  CHECK(encoding.decode(Ids{10, of(0xe2), of(0x82), 10}) ==
        "a\xef\xbf\xbd\xef\xbf\xbd"
        "a");
  CHECK(encoding.decode(Ids{of(0xc3), 2, of(0xa9)}) == "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("padding is its own piece, else the end of a text, else the unknown") {
  PieceFile file = words();
  file.add("<pad>", 0, control);
  CHECK(file.encoding().padding_id() == 20);
  file.trainer += block_field(48, "[pad]");
  CHECK(file.encoding().padding_id() == 2);
  file.trainer += block_field(47, "<eos>");
  CHECK(file.encoding().padding_id() == 0);
}

TEST_CASE("a long text has the pieces of its words") {
  for (const bool is_bpe : {false, true}) {
    PieceFile file = words();
    if (is_bpe) {
      file = merges();
      file.add_bytes();
    }
    const TextEncoding encoding = file.encoding();
    std::string text;
    Ids wanted;
    for (std::uint64_t i = 0; i < 5000; ++i) {
      std::string word;
      for (std::uint64_t k = 0; k < 1 + i % 9; ++k) {
        const auto draw = static_cast<std::size_t>(uniform_at({1, i, 2}, k) * 10);
        word += std::string("helowabcd?")[draw];
      }
      const Ids ids = encoding.encode(word);
      wanted.insert(wanted.end(), ids.begin(), ids.end());
      text += (i == 0 ? "" : " ") + word;
    }
    CHECK(encoding.encode(text) == wanted);
  }
}

TEST_CASE("a long text keeps its runs of spaces, wherever it is cut") {
  PieceFile file = words();
  file.normalizer = number_field(4, 0);
  const TextEncoding encoding = file.encoding();
  std::string text = "hello";
  Ids wanted{4, 5};
  for (int i = 0; i < 1000; ++i) {
    text += "   hello";
    wanted.insert(wanted.end(), {3, 3, 4, 5});
  }
  CHECK(encoding.encode(text) == wanted);
}

TEST_CASE("encodings are equal when their files are") {
  CHECK(words().encoding() == words().encoding());
  CHECK_FALSE(words().encoding() == merges().encoding());
  CHECK_FALSE(words().encoding() == TextEncoding());
  CHECK(TextEncoding().padding_id() == TextEncoding::padding);
  CHECK_THROWS_WITH(words().encoding().encode("x\ny\xa0"), Contains("line 2, byte 2"));
}
