// Words cut into tokens.
#include <catch2/catch.hpp>

#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Ids = std::vector<std::int64_t>;

namespace {

Ids encode(const std::string& model, const std::string& text) {
  return TokenizerFile{model}.encoding().encode(text);
}

std::string unigram(const std::string& vocab, const std::string& more = R"(,"unk_id":0)") {
  return R"({"type":"Unigram","vocab":[)" + vocab + "]" + more + "}";
}

}  // namespace

TEST_CASE("byte pairs are merged by their rank, the first of equal ones first") {
  const std::string model =
      byte_pairs({"a", "b", "c", "ab", "bc", "abc", "aa"}, {"b c", "a b", "a bc", "a a"});
  CHECK(encode(model, "abc") == Ids{5});
  CHECK(encode(model, "ab") == Ids{3});
  CHECK(encode(model, "aaa") == Ids{6, 0});
  CHECK(encode(model, "aaab") == Ids{6, 3});
  CHECK(encode(model, "abxc") == Ids{5});  // a character without a token is left out
  const std::string pairs = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]})";
  CHECK(encode(pairs, "abab") == Ids{2, 2});
}

TEST_CASE("a word that is a token may not need merges") {
  const std::vector<std::string> tokens{"a", "b", "c", "bc", "abc"};
  CHECK(encode(byte_pairs(tokens, {"b c"}), "abc") == Ids{0, 3});
  CHECK(encode(byte_pairs(tokens, {"b c"}, R"(,"ignore_merges":true)"), "abc") == Ids{4});
}

TEST_CASE("what is unknown to byte pairs is a token, bytes or an error") {
  const std::vector<std::string> tokens{"a", "<unk>", "<0xC3>", "<0xA9>", "é?"};
  CHECK(encode(byte_pairs(tokens, {}, R"(,"unk_token":"<unk>")"), "aéèa") == Ids{0, 1, 1, 0});
  CHECK(encode(byte_pairs(tokens, {}, R"(,"unk_token":"<unk>","fuse_unk":true)"), "aéèa") ==
        Ids{0, 1, 0});
  CHECK(encode(byte_pairs(tokens, {}, R"(,"unk_token":"<unk>","byte_fallback":true)"), "éè") ==
        Ids{2, 3, 1});
  CHECK_THROWS_WITH(encode(byte_pairs(tokens, {}, R"(,"unk_token":"none")"), "aé"),
                    Contains("no token stands for 'é'"));
}

TEST_CASE("tokens at the end and within words have a mark") {
  const std::string suffix =
      byte_pairs({"a", "b</w>", "ab</w>", "b"}, {"a b</w>"}, R"(,"end_of_word_suffix":"</w>")");
  CHECK(encode(suffix, "ab") == Ids{2});
  CHECK(encode(suffix, "ba") == Ids{3});  // a</w> has no token
  const std::string prefix =
      byte_pairs({"a", "##b", "ab", "##c"}, {"a ##b"}, R"(,"continuing_subword_prefix":"##")");
  CHECK(encode(prefix, "abc") == Ids{2, 3});
}

TEST_CASE("dropping merges at random is refused") {
  CHECK_THROWS_WITH(encode(byte_pairs({"a"}, {}, R"(,"dropout":0.1)"), "a"),
                    Contains("'model.dropout' is not 0"));
  CHECK(encode(byte_pairs({"a"}, {}, R"(,"dropout":null)"), "a") == Ids{0});
}

TEST_CASE("merges whose tokens are missing are refused") {
  CHECK_THROWS_WITH(encode(byte_pairs({"a", "b"}, {"a b"}), "a"),
                    Contains("'ab', which the vocabulary lacks"));
  CHECK_THROWS_WITH(encode(byte_pairs({"a", "b"}, {"a c"}), "a"), Contains("'c'"));
  CHECK_THROWS_WITH(encode(byte_pairs({"a", "b"}, {"ab"}), "a"), Contains("no pair of tokens"));
}

TEST_CASE("long words of byte pairs take time in proportion") {
  std::string long_text(1'000'000, 'a');
  for (std::size_t i = 0; i < long_text.size(); i += 3) long_text[i] = 'b';
  const Ids ids =
      encode(byte_pairs({"a", "b", "aa", "baa", "baabaa"}, {"a a", "b aa", "baa baa"}), long_text);
  CHECK(ids.size() == 166'668);
}

TEST_CASE("word pieces are the longest, and a word without them is unknown") {
  const std::string model = word_pieces({"[UNK]", "un", "##aff", "##able", "##a", "u", "é", "##é"});
  CHECK(encode(model, "unaffable") == Ids{1, 2, 3});
  CHECK(encode(model, "unaé") == Ids{1, 4, 7});
  CHECK(encode(model, "unx") == Ids{0});
  CHECK(encode(model, "u" + std::string(100, 'a')) == Ids{0});  // more than 100 characters
  CHECK(encode(model, "u" + std::string(99, 'a')).size() == 100);
  CHECK_THROWS_WITH(encode(word_pieces({"a"}), "b"), Contains("no tokens stand for 'b'"));
}

TEST_CASE("unigram takes the best sum of scores and joins what is unknown") {
  const std::string vocab =
      R"(["<unk>",0],["a",0.0],["b",0.0],["c",0.0],["d",0.0],["cd",1.0],["ab",2.0],["abc",5.0],)"
      R"(["abcd",10.0])";
  CHECK(encode(unigram(vocab), "abcdacdxx") == Ids{8, 1, 5, 0});
  CHECK(encode(unigram(vocab), "éaé") == Ids{0, 1, 0});
  CHECK_THROWS_WITH(encode(unigram(vocab, R"(,"unk_id":null)"), "x"),
                    Contains("no token for the unknown"));
  const std::string bytes = R"(["<unk>",0],["<0xC3>",0],["<0xA9>",0])";
  CHECK(encode(unigram(bytes, R"(,"unk_id":0,"byte_fallback":true)"), "éx") == Ids{0});
  CHECK(encode(unigram(bytes, R"(,"unk_id":0,"byte_fallback":true)"), "éé") == Ids{1, 2, 1, 2});
  CHECK_THROWS_WITH(encode(unigram(vocab, R"(,"unk_id":9)"), "a"), Contains("'model.unk_id' is 9"));
  CHECK_THROWS_WITH(encode(unigram(R"(["a"])"), "a"), Contains("no token with its score"));
  CHECK_THROWS_WITH(encode(unigram(""), "a"), Contains("no tokens"));
}

TEST_CASE("a piece that is listed twice counts twice before the ids of added tokens") {
  TokenizerFile file{unigram(R"(["<unk>",0],["a",0.0],["b",0.0],["a",1.0])")};
  file.added_tokens = R"([{"id":4,"content":"<x>","special":true}])";
  CHECK(file.encoding().encode("a<x>b") == Ids{3, 4, 2});
}

TEST_CASE("a model that is not known is refused by its name") {
  CHECK_THROWS_WITH(encode(R"({"type":"WordLevel","vocab":{"a":0},"unk_token":"a"})", "a"),
                    Contains("'model' is of type 'WordLevel'"));
  CHECK_THROWS_WITH(encode(byte_pairs({"a"}, {}, R"(,"new":1)"), "a"),
                    Contains("'model.new' is not known"));
}
