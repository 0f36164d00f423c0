// Files and texts that would take time or memory out of proportion.
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>

#include "core/stop.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

double seconds_of(const TextEncoding& encoding, const std::string& text) {
  const std::clock_t start = std::clock();
  encoding.encode(text);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TextEncoding split_by(const std::string& pattern) {
  TokenizerFile file{byte_pairs({"a", "b"}, {})};
  file.pre_tokenizer = R"({"type":"Split","pattern":{"Regex":")" + pattern +
                       R"("},"behavior":"Isolated","invert":false})";
  return file.encoding();
}

}  // namespace

TEST_CASE("a file that is no tokenizer is refused") {
  CHECK_THROWS_WITH(TokenizerFile::read(""), Contains("no JSON") && Contains("tokenizer.json"));
  CHECK_THROWS_WITH(TokenizerFile::read("{"), Contains("no JSON at byte"));
  CHECK_THROWS_WITH(TokenizerFile::read("[]"), Contains("no object"));
  CHECK_THROWS_WITH(TokenizerFile::read("{}"), Contains("'model' is missing"));
  CHECK_THROWS_WITH(TokenizerFile::read(R"({"model":{"type":"BPE","merges":[]}})"),
                    Contains("'model.vocab' is missing"));
  CHECK_THROWS_WITH(TokenizerFile::read(R"({"model":"BPE"})"), Contains("'model' is no object"));
  CHECK_THROWS_WITH(TokenizerFile::read("{\"model\":\"\xff\"}"), Contains("no JSON at byte"));
  CHECK_THROWS_WITH(
      (TokenizerFile{byte_pairs({"a"}, {}), "", "", "", "", "[]", ",\"new\":1"}).encoding(),
      Contains("'new' is not known"));
  CHECK_THROWS_WITH(TokenizerFile::read(R"({"version":"2.0","model":{}})"), Contains("'2.0'"));
}

TEST_CASE("deep nesting is refused") {
  CHECK_THROWS_WITH(TokenizerFile::read(std::string(100'000, '[')),
                    Contains("more than 32 levels"));
  TokenizerFile file{byte_pairs({"a"}, {})};
  for (int i = 0; i < 20; ++i) {
    file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" + file.pre_tokenizer + "]}";
  }
  CHECK_THROWS_WITH(file.encoding(), Contains("more than 32 levels"));
}

TEST_CASE("ids and tokens have bounds") {
  const auto with = [](const std::string& vocab) {
    return TokenizerFile{R"({"type":"BPE","vocab":{)" + vocab + R"(},"merges":[]})"}.encoding();
  };
  CHECK_THROWS_WITH(with(R"("a":4000000000)"), Contains("above 2097151"));
  CHECK_THROWS_WITH(with(R"("a":1e300)"), Contains("above 2097151"));
  CHECK_THROWS_WITH(with(R"("a":-1)"), Contains("no integer from 0 on"));
  CHECK_THROWS_WITH(with(R"("a":0.5)"), Contains("no integer from 0 on"));
  CHECK_THROWS_WITH(with(R"("a":"0")"), Contains("no number"));
  CHECK_THROWS_WITH(with(R"("a":1,"b":1)"), Contains("both have id 1"));
  CHECK_THROWS_WITH(with("\"" + std::string(4097, 'a') + "\":0"), Contains("more than 4096"));
  CHECK_THROWS_WITH(with(""), Contains("no tokens"));
  CHECK(with(R"("":0,"a":1)").encode("a") == std::vector<std::int64_t>{1});
}

TEST_CASE("patterns that backtrack without end are refused") {
  const std::string text = std::string(50, 'a') + "!";
  CHECK_THROWS_WITH(split_by("(?:a+)+b").encode(text), Contains("more than 1000000 steps"));
  // Many steps from every place.
  const TextEncoding slow = split_by("a*a*a*b");
  CHECK_THROWS_WITH(slow.encode(std::string(20'000, 'a')), Contains("steps"));
  CHECK_THROWS_WITH(split_by(std::string(70'000, 'a')), Contains("more than 65536"));
  CHECK_THROWS_WITH(split_by("(?:(?:a{1000}){1000}){1000}"), Contains("regular expression"));
  std::string groups;
  for (int i = 0; i < 10'000; ++i) groups += "(?:";
  CHECK_THROWS_WITH(split_by(groups), Contains("regular expression"));
}

TEST_CASE("a pattern that never matches takes time in proportion to the text") {
  CHECK(seconds_of(split_by("b"), std::string(2'000'000, 'a')) < 3);
}

TEST_CASE("many marks are sorted in time in proportion") {
  TokenizerFile file{byte_pairs({"a"}, {})};
  file.normalizer = R"({"type":"NFC"})";
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  CHECK(seconds_of(file.encoding(), marks) < 3);
}

TEST_CASE("long added tokens and long words cost a text no more than short ones") {
  TokenizerFile file{byte_pairs({"a", "b"}, {})};
  file.added_tokens = R"([{"content":")" + std::string(4095, 'a') + R"(b"}])";
  CHECK(seconds_of(file.encoding(), std::string(200'000, 'a')) < 3);
  const TokenizerFile pieces{R"({"type":"Unigram","unk_id":0,"vocab":[["a",0],[")" +
                             std::string(4095, 'a') + R"(b",0]]})"};
  CHECK(seconds_of(pieces.encoding(), std::string(200'000, 'a')) < 3);
}

TEST_CASE("a tokenizer keeps a deadline") {
  TokenizerFile file{byte_pairs({"a", "b"}, {})};
  const TextEncoding encoding = file.encoding();
  const TextEncoding slow = split_by("a*a*b");
  {
    const StopScope scope({nullptr, std::chrono::steady_clock::now()});
    CHECK_THROWS_WITH(encoding.encode("ab"), Contains("deadline"));
  }
  const auto start = std::chrono::steady_clock::now();
  const StopScope scope({nullptr, start + std::chrono::milliseconds(100)});
  CHECK_THROWS_WITH(slow.encode(std::string(100'000, 'a')), Contains("deadline"));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() < 2);
}
