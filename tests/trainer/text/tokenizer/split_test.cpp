// Texts cut into words.
#include <catch2/catch.hpp>

#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

std::string split(const std::string& pattern, const std::string& behavior,
                  const std::string& invert = "false") {
  return R"({"type":"Split","pattern":)" + pattern + R"(,"behavior":")" + behavior +
         R"(","invert":)" + invert + "}";
}

}  // namespace

TEST_CASE("a text is cut at the matches of a pattern as each behavior says") {
  const std::string dash = R"({"String":"-"})";
  const std::string text = "The-final--countdown";
  CHECK(words_of(split(dash, "Removed"), text) == Words{"The", "final", "countdown"});
  CHECK(words_of(split(dash, "Isolated"), text) ==
        Words{"The", "-", "final", "-", "-", "countdown"});
  CHECK(words_of(split(dash, "MergedWithPrevious"), text) ==
        Words{"The-", "final-", "-", "countdown"});
  CHECK(words_of(split(dash, "MergedWithNext"), text) == Words{"The", "-final", "-", "-countdown"});
  CHECK(words_of(split(dash, "Contiguous"), text) == Words{"The", "-", "final", "--", "countdown"});
  CHECK(words_of(split(dash, "Removed", "true"), text) == Words{"-", "-", "-"});
  CHECK(words_of(split(dash, "MergedWithPrevious"), "-a-") == Words{"-", "a-"});
  CHECK(words_of(split(dash, "MergedWithNext"), "-a-") == Words{"-a", "-"});
  CHECK_THROWS_WITH(words_of(split(dash, "Merged"), "a"), Contains("'Merged' is not known"));
}

TEST_CASE("patterns have properties of characters and look ahead") {
  const std::string words = R"({"Regex":"\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"})";
  CHECK(words_of(split(words, "Isolated"), "é12345  х") == Words{"é", "123", "45", " ", " ", "х"});
  CHECK(words_of(split(R"x({"Regex":"(?i:'s|'t)"})x", "Isolated"), "it'Sx") ==
        Words{"it", "'S", "x"});
  // Han alone, without the punctuation that scripts share.
  CHECK(words_of(split(R"({"Regex":"\\p{Han}+"})", "Isolated"), "日本、x") == Words{"日本", "、x"});
  CHECK(words_of(split(R"({"Regex":"[^(\\s|[.,])]+"})", "Removed", "true"), "a b.c(d") ==
        Words{"a", "b", "c", "d"});
  CHECK(words_of(split(R"({"Regex":"\\b"})", "Isolated"), "ab.c") == Words{"ab", ".", "c"});
  CHECK(words_of(split(R"({"Regex":""})", "Isolated"), "añ") == Words{"a", "ñ"});
}

TEST_CASE("patterns that mean something else in another syntax are refused") {
  const auto refused = [](const std::string& pattern, const std::string& part) {
    CAPTURE(pattern);
    CHECK_THROWS_WITH(words_of(split(R"({"Regex":")" + pattern + "\"}", "Isolated"), "a"),
                      Contains(part) && Contains("regular expression"));
  };
  refused("[a&&b]", "&& in a class");
  refused("\\\\h+", "5ch'");
  refused("(?m:a.)", "(?m:");
  refused("(a)\\\\1", "5c1'");
  refused("(?<n>a)", "(?<n");
  refused("[[:alpha:]]", "[[:");
  refused("[a[^b]]", "[^b");
  refused("\\\\p{Nonsense}", "unknown property");
  refused("(a", "missing closing parenthesis");
  refused("[a", "no end");
}

TEST_CASE("words are cut at spaces, punctuation and digits") {
  CHECK(words_of(R"({"type":"Whitespace"})", "Hey man! a_1²नि  -x") ==
        Words{"Hey", "man", "!", "a_1", "²", "नि", "-", "x"});
  CHECK(words_of(R"({"type":"WhitespaceSplit"})", "a\u00a0b,\tc ") == Words{"a", "b,", "c"});
  CHECK(words_of(R"({"type":"BertPreTokenizer"})", "it's «x» $5") ==
        Words{"it", "'", "s", "«", "x", "»", "$", "5"});
  CHECK(words_of(R"({"type":"Digits","individual_digits":true})", "ab12c") ==
        Words{"ab", "1", "2", "c"});
  CHECK(words_of(R"({"type":"Digits","individual_digits":false})", "ab12c½") ==
        Words{"ab", "12", "c", "½"});
  CHECK(words_of(R"({"type":"Punctuation"})", "a.,b") == Words{"a", ".", ",", "b"});
  CHECK(words_of(R"({"type":"Punctuation","behavior":"Contiguous"})", "a.,b") ==
        Words{"a", ".,", "b"});
  CHECK(words_of(R"({"type":"CharDelimiterSplit","delimiter":"|"})", "a||b") == Words{"a", "b"});
}

TEST_CASE("spaces become a symbol that words begin with") {
  const auto metaspace = [](const std::string& more) {
    return R"({"type":"Metaspace","replacement":"▁")" + more + "}";
  };
  CHECK(words_of(metaspace(""), "Hey  you") == Words{"▁Hey", "▁", "▁you"});
  CHECK(words_of(metaspace(R"(,"prepend_scheme":"never")"), "Hey you") == Words{"Hey", "▁you"});
  CHECK(words_of(metaspace(R"(,"split":false)"), "Hey you") == Words{"▁Hey▁you"});
  CHECK(words_of(metaspace(R"(,"add_prefix_space":false)"), "a") == Words{"a"});
  const std::string first = R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)" +
                            metaspace(R"(,"prepend_scheme":"first")") + "]}";
  CHECK(words_of(first, "a b") == Words{"▁a", "b"});
}

TEST_CASE("bytes become characters") {
  const auto byte_level = [](const std::string& more) {
    return R"({"type":"ByteLevel","trim_offsets":true)" + more + "}";
  };
  CHECK(words_of(byte_level(R"(,"add_prefix_space":false)"), "Hello don't  é\n") ==
        Words{"Hello", "Ġdon", "'t", "Ġ", "ĠÃ©", "Ċ"});
  CHECK(words_of(byte_level(""), "a b") == Words{"Ġa", "Ġb"});
  CHECK(words_of(byte_level(R"(,"use_regex":false)"), "a b") == Words{"ĠaĠb"});
}

TEST_CASE("a pre-tokenizer that is not known is refused by its name") {
  CHECK_THROWS_WITH(words_of(R"({"type":"Sequence","pretokenizers":[{"type":"Whitespace"},)"
                             R"({"type":"UnicodeScripts"}]})",
                             "a"),
                    Contains("'pretokenizers[1]' is of type 'UnicodeScripts'"));
  CHECK_THROWS_WITH(words_of(R"({"type":"Digits","individual":true})", "a"),
                    Contains("'individual' is not known"));
  std::string many = R"({"type":"Whitespace"})";
  for (int i = 0; i < 40; ++i) many += R"(,{"type":"Whitespace"})";
  CHECK_THROWS_WITH(words_of(R"({"type":"Sequence","pretokenizers":[)" + many + "]}", "a"),
                    Contains("more than 32 steps"));
}
