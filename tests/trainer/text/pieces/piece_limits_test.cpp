// Files and texts that would take time or memory out of proportion.
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <random>

#include "core/stop.h"
#include "tests/trainer/text/pieces/piece_file.h"
#include "trainer/text/pieces/piece_trie.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Ids = std::vector<std::int64_t>;

namespace {

PieceFile letters() { return PieceFile().add_usual().add("a", -1).add("b", -1); }

double seconds_of(const TextEncoding& encoding, const std::string& text) {
  const std::clock_t start = std::clock();
  encoding.encode(text);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("a rule for a key that every byte of a text may begin is bounded") {
  const auto with_key = [](std::size_t bytes) {
    PieceFile file = letters();
    file.normalizer = block_field(2, charsmap({{std::string(bytes, 'a'), "b"}}));
    return file;
  };
  const TextEncoding longest = with_key(256).encoding();
  CHECK(longest.encode(std::string(257, 'a')).size() == 3);  // unknown space, "b", "a"
  CHECK_THROWS_WITH(with_key(257).encoding(), Contains("more than 256 bytes"));
  CHECK_THROWS_WITH(with_key(3000).encoding(), Contains("more than 256 bytes"));
}

TEST_CASE("keys that share their ends count by their longest way") {
  // "a" and 200 times "b" end in the children of one node, which 100 times "c" lead on from.
  TrieWriter trie;
  const std::string tail(100, 'c');
  trie.add("a" + tail, 0);
  trie.add(std::string(200, 'b'), 0);
  const std::uint32_t shared = trie.bases.at(trie.bases.at(0) ^ 'a');
  std::uint32_t last = 0;
  for (int i = 0; i < 200; ++i) last = trie.bases.at(last) ^ 'b';
  const std::uint32_t label = trie.units[last] & 0xff;
  trie.units[last] = label | (last ^ shared) << 10;
  PieceFile file = letters();
  file.normalizer = block_field(2, charsmap(trie.units, std::string("x\0", 2)));
  CHECK_THROWS_WITH(file.encoding(), Contains("more than 256 bytes"));
}

TEST_CASE("rules that multiply a text are refused once it is long") {
  PieceFile file = letters();
  file.normalizer = block_field(2, charsmap({{"a", std::string(1000, 'b')}}));
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.encode("aa").size() == 2001);
  CHECK_THROWS_WITH(encoding.encode(std::string(10'000, 'a')),
                    Contains("more than 32 bytes of each byte"));
  CHECK(encoding.encode(std::string(100'000, 'b')).size() == 100'001);
}

TEST_CASE("a long piece costs a text no more than a short one") {
  for (const int type : {normal, user_defined}) {
    for (const int model : {unigram, bpe}) {
      CAPTURE(type, model);
      PieceFile file = letters();
      file.trainer = number_field(3, static_cast<std::uint64_t>(model));
      file.add(std::string(4095, 'a') + "b", -1, type);
      CHECK(seconds_of(file.encoding(), std::string(300'000, 'a')) < 2);
    }
  }
}

TEST_CASE("encoding ends at a deadline") {
  for (const int model : {unigram, bpe}) {
    PieceFile file = letters();
    file.trainer = number_field(3, static_cast<std::uint64_t>(model));
    const TextEncoding encoding = file.encoding();
    const StopScope scope({nullptr, std::chrono::steady_clock::now()});
    CHECK_THROWS_WITH(encoding.encode("ab ab"), Contains("deadline"));
  }
}

TEST_CASE("a trie finds the texts that another begins with") {
  std::mt19937 random(7);  // the same numbers everywhere
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) {
      std::string text;
      for (std::size_t n = 1 + random() % 9; n > 0; --n) text += "ab"[random() % 2];
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
    std::vector<text::PieceTrie::Entry> entries;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      entries.emplace_back(texts[i], static_cast<std::int32_t>(i));
    }
    const text::PieceTrie trie(entries);
    for (int i = 0; i < 60; ++i) {
      std::string text;
      for (std::size_t n = random() % 12; n > 0; --n) text += "ab"[random() % 2];
      CAPTURE(text);
      std::vector<std::pair<std::size_t, std::int32_t>> want;
      std::int32_t whole = text::PieceTrie::none;
      for (std::size_t n = 1; n <= text.size(); ++n) {
        const auto found = std::find(texts.begin(), texts.end(), text.substr(0, n));
        if (found == texts.end()) continue;
        const auto id = static_cast<std::int32_t>(found - texts.begin());
        want.emplace_back(n, id);
        if (n == text.size()) whole = id;
      }
      std::vector<std::pair<std::size_t, std::int32_t>> got;
      trie.for_each_prefix(text, [&](std::size_t n, std::int32_t id) { got.emplace_back(n, id); });
      CHECK(got == want);
      CHECK(trie.longest_prefix(text) == (want.empty() ? 0 : want.back().first));
      CHECK(trie.find(text) == whole);
    }
  }
}
