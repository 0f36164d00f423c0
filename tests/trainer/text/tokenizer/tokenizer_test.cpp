// Whole tokenizer.json files: added tokens, special tokens around texts, decoded texts.
#include <catch2/catch.hpp>

#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Ids = std::vector<std::int64_t>;

namespace {

std::string added(const std::string& content, const std::string& more = {}) {
  return R"({"id":0,"content":")" + content + R"(","special":true)" + more + "}";
}

TokenizerFile words() {
  TokenizerFile file{word_pieces({"[UNK]", "a", "b", "[CLS]", "[SEP]", "##b"})};
  file.pre_tokenizer = R"({"type":"Whitespace"})";
  return file;
}

std::string decoded(const std::string& decoder, const std::vector<std::string>& tokens) {
  TokenizerFile file{word_pieces(tokens)};
  file.decoder = decoder;
  Ids ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) ids.push_back(static_cast<std::int64_t>(i));
  return file.encoding().decode(ids);
}

}  // namespace

TEST_CASE("added tokens are found before a text is cut, the longest first") {
  TokenizerFile file = words();
  file.added_tokens = "[" + added("[SEP]") + "," + added("<x>") + "," + added("<x>y") + "]";
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.size() == 8);
  CHECK(encoding.encode("a[SEP]b <x>ab<x>yb") == Ids{1, 4, 2, 6, 1, 5, 7, 2});
  CHECK(encoding.decode(Ids{1, 4, 2, 6}) == "a b");
}

TEST_CASE("added tokens take spaces beside them, or stand alone") {
  TokenizerFile file = words();
  file.added_tokens = "[" + added("<l>", R"(,"lstrip":true)") + "," +
                      added("<r>", R"(,"rstrip":true)") + "," +
                      added("ab", R"(,"single_word":true)") + "]";
  file.pre_tokenizer = R"({"type":"Split","pattern":{"String":" "},"behavior":"Isolated"})";
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.encode("a \u3000<l> b") == Ids{1, 6, 0, 2});
  CHECK(encoding.encode("é \u3000<l>") == Ids{0, 6});
  CHECK(encoding.encode("a <r>  b") == Ids{1, 0, 7, 2});
  CHECK(encoding.encode("ab aab ab.") == Ids{8, 0, 0, 0, 8, 0});
}

TEST_CASE("added tokens may be found in the normalized text") {
  TokenizerFile file = words();
  file.normalizer = R"({"type":"Lowercase"})";
  file.added_tokens = "[" + added("YES", R"(,"normalized":true)") + "," +
                      added("NO", R"(,"normalized":false)") + "]";
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.encode("a yes Yes NO no") == Ids{1, 6, 6, 7, 0});
}

TEST_CASE("post-processors put special tokens around a text") {
  const std::string pieces =
      R"([{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":0}}])";
  const std::string with_template =
      R"({"type":"TemplateProcessing","single":)" + pieces +
      R"(,"pair":[],"special_tokens":{)"
      R"("[CLS]":{"id":"[CLS]","ids":[3],"tokens":["[CLS]"]},)"
      R"("[SEP]":{"id":"[SEP]","ids":[4,4],"tokens":["[SEP]","[SEP]"]}}})";
  TokenizerFile file = words();
  file.post_processor = with_template;
  CHECK(file.encoding().encode("a") == Ids{3, 1, 4, 4});
  CHECK(file.encoding().encode("") == Ids{3, 4, 4});
  CHECK(file.encoding().encode_beginning("a") == Ids{3, 1});
  CHECK(file.encoding().ending().size() == 2);
  file.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",4],"cls":["[CLS]",3]})";
  CHECK(file.encoding().encode("a") == Ids{3, 1, 4});
  file.post_processor = R"({"type":"RobertaProcessing","sep":["[SEP]",4],"cls":["[CLS]",3],)"
                        R"("trim_offsets":true,"add_prefix_space":true})";
  CHECK(file.encoding().encode("a") == Ids{3, 1, 4});
  file.post_processor =
      R"({"type":"Sequence","processors":[{"type":"ByteLevel"},)" + with_template + "]}";
  CHECK(file.encoding().encode("a") == Ids{3, 1, 4, 4});
  file.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",9],"cls":["[CLS]",3]})";
  CHECK_THROWS_WITH(file.encoding(), Contains("post_processor adds id 9"));
  file.post_processor = R"({"type":"TemplateProcessing","single":[],"special_tokens":{}})";
  CHECK_THROWS_WITH(file.encoding(), Contains("'post_processor.single'"));
  file.post_processor = R"({"type":"Wrap"})";
  CHECK_THROWS_WITH(file.encoding(), Contains("'post_processor' is of type 'Wrap'"));
}

TEST_CASE("decoders make texts of tokens") {
  CHECK(decoded("", {"a", "b"}) == "a b");
  CHECK(decoded(R"({"type":"ByteLevel"})", {"ĠH", "Ã", "©", "日", "Ã"}) == " Hé日\ufffd");
  CHECK(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":true})", {"it", "##s", "'s", "."}) ==
        "its's.");
  CHECK(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":false})", {"it", "."}) == "it .");
  CHECK(decoded(R"({"type":"Metaspace","replacement":"▁"})", {"▁a▁b", "▁c"}) == "ab c");
  CHECK(decoded(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", {"▁a"}) ==
        " a");
  CHECK(decoded(R"({"type":"BPEDecoder","suffix":"</w>"})", {"a", "b</w>", "c</w>"}) == "ab c");
  const std::string fallback = R"({"type":"ByteFallback"})";
  CHECK(decoded(fallback, {"a", "<0xC3>", "<0xA9>", "<0xE2>", "b"}) == "a\ufffd\ufffd\ufffdb");
  CHECK(decoded(fallback, {"<0xC3>", "<0xA9>", "b"}) == "éb");
  const std::string llama =
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
      R"({"type":"ByteFallback"},{"type":"Fuse"},)"
      R"({"type":"Strip","content":" ","start":1,"stop":0}]})";
  CHECK(decoded(llama, {"▁▁a", "▁b"}) == " a b");
  CHECK(decoded(R"({"type":"Strip","content":"x","start":1,"stop":2})", {"xxaxxx", "x"}) == "xax");
  CHECK_THROWS_WITH(decoded(R"({"type":"CTC"})", {"a"}), Contains("'decoder' is of type 'CTC'"));
}

TEST_CASE("bytes that make no character are decoded as Rust does") {
  const auto bytes = [](const std::vector<std::string>& tokens) {
    return decoded(R"({"type":"ByteLevel"})", tokens);
  };
  CHECK(bytes({"â", "Ĥ", "a"}) == "\ufffda");  // e2 82, which a character could begin with
  CHECK(bytes({"â", "x"}) == "\ufffdx");       // e2 alone
  CHECK(bytes({"í", "ł"}) == "\ufffd\ufffd");  // ed a0, of a surrogate
  CHECK(bytes({"ð", "Ł", "ĺ"}) == "\ufffd");   // f0 9f 98
  CHECK(bytes({"ñ", "¡", "¡", "¡"}) == "\xf1\xa1\xa1\xa1");
}

TEST_CASE("short rows are filled with the padding of the file, or of a usual token") {
  TokenizerFile file = words();
  CHECK(file.encoding().padding_id() == 0);
  file.added_tokens = "[" + added("[CLS]") + "," + added("<pad>") + "]";
  CHECK(file.encoding().padding_id() == 6);
  const std::string text = file.text();
  const std::string from = R"("padding":null)";
  std::string padded = text;
  padded.replace(text.find(from), from.size(), R"("padding":{"pad_id":2})");
  CHECK(TokenizerFile::read(padded).padding_id() == 2);
  padded.replace(padded.find(R"("pad_id":2)"), 10, R"("pad_id":9)");
  CHECK_THROWS_WITH(TokenizerFile::read(padded), Contains("padding.pad_id is 9"));
}

TEST_CASE("an encoding of a tokenizer.json names and keeps its file") {
  const TokenizerFile file = words();
  const TextEncoding encoding = file.encoding();
  CHECK(encoding.name() == "tokenizer.json");
  CHECK(std::string(reinterpret_cast<const char*>(encoding.model().data()),
                    encoding.model().size()) == file.text());
  CHECK(encoding == file.encoding());
  CHECK_FALSE(encoding == TextEncoding());
  CHECK_THROWS_WITH(encoding.decode(Ids{6}), Contains("id 6 is none of 6"));
  CHECK_THROWS_WITH(encoding.encode("a\xff"), Contains("not UTF-8"));
}
