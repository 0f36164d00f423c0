// Tokens that are found in a text before it is cut into words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/pieces/piece_trie.h"
#include "trainer/text/tokenizer/model.h"
#include "trainer/text/tokenizer/normalize.h"

namespace ondine::text::tokenizer {

// A part of a text: a token, or what is cut by the model where `id` is none.
struct TextPart {
  Id id;
  std::size_t begin;
  std::size_t end;
};

class AddedTokens {
 public:
  // `json` is the list added_tokens. As in the `tokenizers` package, a token of the model has the
  // model's id, another one the next that is free. Errors: see Tokenizer.
  AddedTokens(const JsonView& json, const Vocabulary& vocabulary, const Normalizers& normalizers);
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;

  // Parts of a text before and after normalization. Calls take(part) for each; some may overlap.
  template <class Take>
  void split(std::string_view text, bool is_normalized, const Take& take) const;

  struct Token {
    std::string content;
    std::string found;  // what is looked for: normalized, if it should be
    Id id = no_id;
    bool single_word = false;
    bool lstrip = false;
    bool rstrip = false;
    bool normalized = false;
    bool special = false;
  };
  const std::vector<Token>& all() const noexcept { return tokens_; }
  // nullptr where it is none of these.
  const Token* find(std::int64_t id) const noexcept;
  const Token* find(std::string_view content) const noexcept;

 private:
  struct Finder {
    explicit Finder(std::vector<PieceTrie::Entry> entries);
    PieceTrie trie;            // to positions in tokens_
    std::vector<bool> begins;  // bytes that a token begins with
    bool is_empty;
  };
  struct Found {
    std::size_t begin;
    std::size_t end;
    const Token* token;
  };

  Token read(const JsonView& json, const Normalizers& normalizers) const;
  Finder finder(bool normalized) const;
  // The first from `from` on, the longest of those; without a token where there is none.
  Found next(const Finder& finder, std::string_view text, std::size_t from) const;
  bool fits(const Found& found, std::string_view text) const;

  std::vector<Token> tokens_;
  std::vector<std::size_t> by_id_;       // positions, sorted
  std::vector<std::size_t> by_content_;  // positions, sorted
  std::optional<Finder> as_written_;
  std::optional<Finder> normalized_;
};

// Bytes of spaces at the end and at the beginning of a text.
std::size_t spaces_at_end(std::string_view text);
std::size_t spaces_at_begin(std::string_view text);

template <class Take>
void AddedTokens::split(std::string_view text, bool is_normalized, const Take& take) const {
  const Finder& finder = is_normalized ? *normalized_ : *as_written_;
  std::size_t begin = 0;
  std::size_t from = 0;
  while (!finder.is_empty && from < text.size()) {
    const Found found = next(finder, text, from);
    if (found.token == nullptr) break;
    from = found.end;
    if (found.token->single_word && !fits(found, text)) continue;
    std::size_t first = found.begin;
    std::size_t last = found.end;
    if (found.token->lstrip && first > begin) {
      first -= spaces_at_end(text.substr(begin, first - begin));
    }
    if (found.token->rstrip) last += spaces_at_begin(text.substr(last));
    if (begin < first) take(TextPart{no_id, begin, first});
    take(TextPart{found.token->id, first, last});
    begin = last;
  }
  if (begin < text.size()) take(TextPart{no_id, begin, text.size()});
}

}  // namespace ondine::text::tokenizer
