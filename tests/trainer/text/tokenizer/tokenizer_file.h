// Small tokenizer.json files.
#pragma once

#include <string>
#include <vector>

#include <ondine/text.h>

#include "trainer/text/tokenizer/normalize.h"
#include "trainer/text/tokenizer/split.h"

namespace ondine::test {

// The members of a tokenizer.json as JSON; an empty one is null.
struct TokenizerFile {
  std::string model;
  std::string normalizer = {};
  std::string pre_tokenizer = {};
  std::string post_processor = {};
  std::string decoder = {};
  std::string added_tokens = "[]";
  std::string more = {};  // further members, each with a comma in front

  std::string text() const {
    const auto or_null = [](const std::string& part) { return part.empty() ? "null" : part; };
    return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added_tokens +
           R"(,"normalizer":)" + or_null(normalizer) + R"(,"pre_tokenizer":)" +
           or_null(pre_tokenizer) + R"(,"post_processor":)" + or_null(post_processor) +
           R"(,"decoder":)" + or_null(decoder) + R"(,"model":)" + model + more + "}";
  }
  TextEncoding encoding() const { return read(text()); }

  static TextEncoding read(const std::string& text) {
    return TextEncoding::tokenizer_json(std::as_bytes(std::span(text)));
  }
};

// A model of WordPiece whose tokens are these.
inline std::string word_pieces(const std::vector<std::string>& tokens) {
  std::string vocab;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    vocab += (i == 0 ? "\"" : ",\"") + tokens[i] + "\":" + std::to_string(i);
  }
  return R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
         R"("max_input_chars_per_word":100,"vocab":{)" +
         vocab + "}}";
}

// Byte pair encoding; `more` are members with a comma in front.
inline std::string byte_pairs(const std::vector<std::string>& tokens,
                              const std::vector<std::string>& merges,
                              const std::string& more = {}) {
  std::string result = R"({"type":"BPE","vocab":{)";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    result += (i == 0 ? "\"" : ",\"") + tokens[i] + "\":" + std::to_string(i);
  }
  result += R"(},"merges":[)";
  for (std::size_t i = 0; i < merges.size(); ++i) {
    result += (i == 0 ? "\"" : ",\"") + merges[i] + "\"";
  }
  return result + "]" + more + "}";
}

// The words that a pre_tokenizer makes of a text.
inline std::vector<std::string> words_of(const std::string& json, const std::string& text) {
  struct Sink final : text::tokenizer::WordSink {
    std::vector<std::string> words;
    void take(std::string_view word, bool) override { words.emplace_back(word); }
  };
  const text::tokenizer::JsonTree tree(json);
  text::tokenizer::PreTokenizers steps;
  text::tokenizer::read_pre_tokenizer(tree.root(), steps);
  Sink sink;
  text::tokenizer::pre_tokenize(steps, text, true, sink);
  return sink.words;
}

// Text as the normalizer `json` changes it.
inline std::string normalized(const std::string& json, const std::string& text) {
  const text::tokenizer::JsonTree tree(json);
  text::tokenizer::Normalizers steps;
  text::tokenizer::read_normalizer(tree.root(), steps);
  text::tokenizer::NormalText result{text};
  text::tokenizer::normalize(steps, result);
  return result.text;
}

}  // namespace ondine::test
