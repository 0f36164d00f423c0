// Characters replaced before a text is cut.
#include <catch2/catch.hpp>

#include "core/text/base64.h"
#include "tests/trainer/text/pieces/piece_file.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::string plain(const std::string& type) { return R"({"type":")" + type + "\"}"; }

}  // namespace

TEST_CASE("texts take the normal forms of Unicode") {
  CHECK(normalized(plain("NFC"), "e\u0301 \u1112\u1161\u11ab \u212b") == "é 한 Å");
  CHECK(normalized(plain("NFD"), "é한ộ") == "e\u0301\u1112\u1161\u11abo\u0323\u0302");
  CHECK(normalized(plain("NFKC"), "ﬁ ① Ａ e\u0301") == "fi 1 A é");
  CHECK(normalized(plain("NFKD"), "ﬁ½é") == "fi1\u20442e\u0301");
  // Marks are sorted by their class, and those of one class keep their order.
  CHECK(normalized(plain("NFD"), "x\u0301\u0323\u0300") == "x\u0323\u0301\u0300");
  CHECK(normalized(plain("NFC"), "plain ascii") == "plain ascii");
}

TEST_CASE("characters change their case and lose their accents") {
  CHECK(normalized(plain("Lowercase"), "ÀÉ ΣΑΣ İ ABC") == "àé σασ i\u0307 abc");
  CHECK(normalized(plain("StripAccents"), "e\u0301a\u0302x") == "eax");
  CHECK(normalized(plain("Nmt"), "a\u200bb\tc\u0001d\ufeff") == "a b cd ");
  CHECK(normalized(plain("ByteLevel"), "é a") == "Ã©Ġa");
}

TEST_CASE("the normalizer of BERT cleans, sets ideographs apart and lowers") {
  const auto bert = [](const std::string& more) {
    return R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)" + more +
           "}";
  };
  CHECK(normalized(bert(R"("strip_accents":null,"lowercase":true)"), "Hé\u200d\u00a0日x\ufffd") ==
        "he  日 x");
  CHECK(normalized(bert(R"("strip_accents":false,"lowercase":true)"), "HÉ\t") == "hé ");
  CHECK(normalized(bert(R"("strip_accents":null,"lowercase":false)"), "HÉ\x01") == "HÉ");
}

TEST_CASE("texts are replaced, put in front and taken off") {
  CHECK(normalized(R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})", "a  b") ==
        "a▁▁b");
  CHECK(normalized(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})", "a   b c") ==
        "a b c");
  CHECK(normalized(R"({"type":"Prepend","prepend":"▁"})", "a") == "▁a");
  CHECK(normalized(R"({"type":"Prepend","prepend":"▁"})", "").empty());
  CHECK(normalized(R"({"type":"Strip","strip_left":true,"strip_right":true})", "\u3000 a b\n") ==
        "a b");
  CHECK(normalized(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a ") == "a ");
  CHECK(normalized(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a ") == " a");
  CHECK(normalized(R"({"type":"Strip","strip_left":true,"strip_right":true})", "  ").empty());
  CHECK(normalized(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"Lowercase"}]})",
                   "É") == "e\u0301");
}

TEST_CASE("rules of SentencePiece hold for the shortest key of a short cluster") {
  const std::string rules =
      charsmap({{"Ａ", "A"}, {"e\u0301", "é"}, {"\r", " "}, {"①", "1"}, {"①②", "12"}});
  const std::string json =
      R"({"type":"Precompiled","precompiled_charsmap":")" + to_base64(rules) + "\"}";
  CHECK(normalized(json, "xＡe\u0301") == "xAé");
  // The mark of the cluster goes with it.
  CHECK(normalized(json, "Ａ\u0301b") == "Ab");
  CHECK(normalized(json, "a\r\nb") == "a b");
  CHECK(normalized(json, "①②") == "1②");
  CHECK_THROWS_WITH(normalized(R"({"type":"Precompiled","precompiled_charsmap":"AA=="})", "a"),
                    Contains("ends early"));
}

TEST_CASE("normalizers that multiply a text are refused once it is long") {
  const std::string json =
      R"({"type":"Replace","pattern":{"String":"a"},"content":")" + std::string(1000, 'b') + "\"}";
  CHECK(normalized(json, "aa").size() == 2000);
  CHECK_THROWS_WITH(normalized(json, std::string(10'000, 'a')),
                    Contains("more than 32 bytes of each byte"));
  std::string twice = R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  for (int i = 0; i < 30; ++i) twice += "," + twice.substr(0, twice.find('}', 50) + 1);
  CHECK_THROWS_WITH(normalized(R"({"type":"Sequence","normalizers":[)" + twice + "]}", "a"),
                    Contains("more than 32 bytes of each byte"));
}

TEST_CASE("a normalizer that is not known is refused by its name") {
  CHECK_THROWS_WITH(normalized(plain("Shout"), "a"), Contains("type 'Shout'"));
  CHECK_THROWS_WITH(normalized(R"({"type":"NFC","more":1})", "a"), Contains("'more' is not known"));
}
