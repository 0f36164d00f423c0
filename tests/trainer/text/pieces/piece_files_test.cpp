// SentencePiece models that are none.
#include <catch2/catch.hpp>
#include <fstream>
#include <limits>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/text/pieces/piece_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

PieceFile usual() { return PieceFile().add_usual().add("a", -1).add("b", -2); }

void refuse(const std::string& bytes, const std::string& message) {
  INFO(message);
  try {
    TextEncoding::sentencepiece(std::as_bytes(std::span(bytes)));
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains(message) && Contains("in SentencePiece model"));
    CHECK((error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
           error.code() == ErrorCode::limit));
  }
}

void refuse(const PieceFile& file, const std::string& message) { refuse(file.file(), message); }

void refuse_charsmap(const std::string& bytes, const std::string& message) {
  PieceFile file = usual();
  file.normalizer = block_field(2, bytes);
  refuse(file, message);
}

}  // namespace

TEST_CASE("a file that is cut off anywhere is refused or lacks what comes later") {
  PieceFile file = usual();
  file.normalizer = block_field(2, charsmap({{"A", "a"}}));
  const std::string whole = file.file();
  const std::size_t complete = file.pieces.size();
  const std::size_t with_trainer = complete + block_field(2, file.trainer).size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string bytes = whole.substr(0, size);
    INFO(size);
    const auto read = [&] { TextEncoding::sentencepiece(std::as_bytes(std::span(bytes))); };
    if (size == complete || size == with_trainer) {
      CHECK_NOTHROW(read());
    } else if (size > complete) {
      CHECK_THROWS_AS(read(), Error);
    } else {
      // The end of a piece is no end of the file that can be told, but <unk> comes first.
      try {
        read();
        CHECK(size > PieceFile().add_usual().pieces.size());
      } catch (const Error&) {
      }
    }
  }
}

TEST_CASE("fields of another kind and impossible numbers are refused") {
  refuse(std::string(), "it has no pieces");
  refuse(number_field(1, 7), "a piece has wire type 0 instead of 2");
  refuse(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "bytes where 0 are left");
  refuse(std::string(11, '\xff'), "longer than ten bytes");
  refuse(std::string("\x0b"), "unknown wire type 3");
  refuse(std::string("\x02\x00", 2), "impossible field number 0");
  refuse(block_field(1, block_field(2, "x")), "the score of a piece has wire type 2");
  refuse(usual().add("x", 0, 9), "piece type 9 is unknown");
  PieceFile file = usual();
  file.trainer = number_field(3, 9);
  refuse(file, "model type 9 is unknown");
  file.trainer = number_field(3, 3);
  refuse(file, "a model of words; unigram and BPE");
  file.trainer = number_field(3, 4);
  refuse(file, "a model of characters");
  file.trainer = block_field(44, "\xff");
  refuse(file, "unk_surface is not UTF-8");
  refuse(usual().file() + block_field(5, block_field(2, charsmap({{"A", "a"}}))),
         "denormalizer_spec");
}

TEST_CASE("pieces that contradict each other are refused") {
  refuse(usual().add(""), "its text is empty\n  in piece 5");
  refuse(usual().add("a"), "pieces 3 and 5 are both 'a'");
  refuse(usual().add("</s>", 0, control), "pieces 2 and 5 are both");
  refuse(usual().add("\xc3"), "the text of a piece is not UTF-8");
  refuse(usual().add(std::string(4097, 'x')), "4097 bytes, more than 4096");
  refuse(usual().add("x", std::numeric_limits<float>::quiet_NaN()), "its score is not finite");
  refuse(usual().add("x", -std::numeric_limits<float>::infinity()), "its score is not finite");
  refuse(usual().add("<unk2>", 0, unknown), "piece 0 stands for the unknown, too");
  refuse(PieceFile().add("a"), "no piece stands for the unknown");
  refuse(PieceFile().add_usual(), "no piece is text");
  refuse(usual().add("<0x41>", 0, byte), "byte_fallback is off");
  PieceFile file = usual();
  file.trainer += number_field(35, 1);
  refuse(file, "no piece stands for byte 0");
  refuse(file.add("<0xaf>", 0, byte), "'<0xaf>' is no byte");
  file = usual();
  file.add_bytes();
  CHECK_NOTHROW(file.encoding());
  refuse(file.add("<0x41>", 0, byte), "are both '<0x41>'");
}

TEST_CASE("rules for characters that leave the file are refused") {
  TrieWriter trie;
  trie.add("ab", 0);
  const std::vector<std::uint32_t> good = trie.units;
  const std::string texts("c\0", 2);
  PieceFile file = usual();
  file.normalizer = block_field(2, charsmap(good, texts));
  CHECK(file.encoding().encode("ab a") == std::vector<std::int64_t>{0, 3});
  refuse_charsmap("abc", "precompiled_charsmap ends early");
  refuse_charsmap(uint32_bytes(0) + texts, "has 0 of 2 bytes");
  refuse_charsmap(uint32_bytes(6) + "123456", "has 6 of 6 bytes");
  refuse_charsmap(uint32_bytes(0xfffffffc) + texts, "has 4294967292 of 2 bytes");
  refuse_charsmap(charsmap({0, 0, 0, 0}, texts), "leaves its array of 4 units at unit 0");

  // The offset to the children of "a".
  const std::uint32_t a = trie.bases.at(0) ^ 'a';
  std::vector<std::uint32_t> units = good;
  units[a] = (units[a] & 0x1ffU) | 0x200U | 0x1fffffU << 10;
  refuse_charsmap(charsmap(units, texts), "leaves its array");
  // Back to those of the root, where "a" is: "aaa..." has no end.
  units = good;
  units[a] = (units[a] & 0x1ffU) | (a ^ trie.bases.at(0)) << 10;
  refuse_charsmap(charsmap(units, texts), "has a cycle");
  const auto with_value = [&](std::uint32_t value) {
    TrieWriter other;
    other.add("ab", value);
    return other.units;
  };
  refuse_charsmap(charsmap(with_value(2), texts), "at byte 2 of 2");
  refuse_charsmap(charsmap(with_value(0x7fffffff), texts), "at byte 2147483647 of 2");
  refuse_charsmap(charsmap(with_value(0), ""), "at byte 0 of 0");
  refuse_charsmap(charsmap(with_value(1), std::string("\xc3\xa9\0", 3)), "within a character");
  refuse_charsmap(charsmap(good, "c"), "without an end");
  refuse_charsmap(charsmap(good, std::string("\xc3\0", 2)), "not UTF-8");
  refuse_charsmap(charsmap(good, std::string(1025, 'x') + '\0'), "more than 1024 bytes");
}

TEST_CASE("keys of rules may share their ends") {
  TrieWriter trie;
  trie.add("ab", 0);
  const std::uint32_t root = trie.bases.at(0);
  const std::uint32_t a = root ^ 'a';
  const std::uint32_t c = root ^ 'c';
  trie.units[c] = 'c' | (c ^ trie.bases.at(a)) << 10;  // the children of "a"
  PieceFile file = usual();
  file.normalizer = block_field(2, charsmap(trie.units, std::string("a\0", 2)));
  CHECK(file.encoding().encode("abcb") == file.encoding().encode("aa"));
}

TEST_CASE("a broken file is named") {
  const TemporaryFolder folder;
  std::ofstream(folder / "bad.model") << "no model";
  CHECK_THROWS_WITH(TextEncoding::open(folder / "bad.model"),
                    Contains("SentencePiece model") && Contains("bad.model"));
  CHECK_THROWS_AS(TextEncoding::open(folder / "none.model"), Error);
  std::ofstream(folder / "good.model", std::ios::binary) << usual().file();
  CHECK(TextEncoding::open(folder / "good.model") == usual().encoding());
}
