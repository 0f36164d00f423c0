// WordPiece: the longest token that a word begins with, then the longest that what is left does.
#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "trainer/text/tokenizer/model.h"

namespace ondine::text::tokenizer {
namespace {

class WordPiece final : public Model {
 public:
  explicit WordPiece(const JsonView& json)
      : vocabulary_(json.at("vocab")),
        continuing_(continuing(json.text_or("continuing_subword_prefix", "##"))),
        unknown_(vocabulary_.find(json.text_or("unk_token", "[UNK]"))),
        most_characters_(
            json.has("max_input_chars_per_word")
                ? static_cast<std::size_t>(
                      json.at("max_input_chars_per_word").integer(std::int64_t{1} << 40))
                : 100) {
    json.allow_only(
        {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  }

  void append(std::string_view word, Scratch&, Ids& ids) const override {
    const std::size_t before = ids.size();
    if (cut(word, ids)) return;
    ids.resize(before);
    if (unknown_ == no_id) {
      fail(ErrorCode::mismatch, "no tokens stand for ", quoted(word),
           ", and the vocabulary lacks the token for the unknown");
    }
    ids.push_back(unknown_);
  }

  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }
  Id unknown() const noexcept override { return unknown_; }

 private:
  // Tokens that follow others in a word, without their prefix.
  PieceTrie continuing(std::string_view prefix) const {
    std::vector<PieceTrie::Entry> entries;
    const std::vector<std::string>& tokens = vocabulary_.tokens();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view token = tokens[i];
      if (token.starts_with(prefix) && token.size() > prefix.size()) {
        entries.emplace_back(token.substr(prefix.size()), static_cast<Id>(i));
      }
    }
    return PieceTrie(std::move(entries));
  }

  bool cut(std::string_view word, Ids& ids) const {
    const auto characters = std::count_if(word.begin(), word.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
    });
    if (static_cast<std::size_t>(characters) > most_characters_) return false;
    for (bool is_first = true; !word.empty(); is_first = false) {
      checkpoint(static_cast<std::int64_t>(std::min(word.size(), most_token_bytes)));
      std::size_t longest = 0;
      Id found = no_id;
      const PieceTrie& trie = is_first ? vocabulary_.trie() : continuing_;
      trie.for_each_prefix(word, [&](std::size_t length, Id id) {
        longest = length;
        found = id;
      });
      if (longest == 0) return false;
      ids.push_back(found);
      word.remove_prefix(longest);
    }
    return true;
  }

  Vocabulary vocabulary_;
  PieceTrie continuing_;
  Id unknown_;
  std::size_t most_characters_;
};

}  // namespace

std::unique_ptr<const Model> make_wordpiece(const JsonView& json) {
  return std::make_unique<WordPiece>(json);
}

std::unique_ptr<const Model> read_model(const JsonView& json) {
  const std::string_view type = json.has("type") ? json.type() : std::string_view("BPE");
  return with_context(
      [&] {
        if (type == "BPE") return make_bpe(json);
        if (type == "WordPiece") return make_wordpiece(json);
        if (type == "Unigram") return make_unigram(json);
        fail(ErrorCode::unsupported, quoted(json.path()), " is of type ", quoted(type),
             ", which is not supported");
      },
      [&] { return cat(quoted(json.path()), " of type ", quoted(type)); });
}

}  // namespace ondine::text::tokenizer
