#include "trainer/text/tokenizer/vocabulary.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::text::tokenizer {

void check_token(std::string_view token) {
  if (token.size() <= most_token_bytes) return;
  fail(ErrorCode::limit, "a token has ", token.size(), " bytes, more than ", most_token_bytes);
}

Vocabulary::Vocabulary(const JsonView& json) {
  std::vector<bool> is_used;
  json.each_member([&](std::string_view token, const JsonView& value) {
    checkpoint(64);
    check_token(token);
    const auto id = static_cast<std::size_t>(
        with_context([&] { return value.integer(most_ids - 1); },
                     [&] { return cat("the id of token ", quoted(token)); }));
    if (id >= tokens_.size()) {
      tokens_.resize(id + 1);
      is_used.resize(id + 1);
    }
    if (is_used[id]) {
      fail(ErrorCode::corrupt, "tokens ", quoted(tokens_[id]), " and ", quoted(token),
           " both have id ", id);
    }
    is_used[id] = true;
    tokens_[id] = token;
    ++count_;
  });
  make_trie();
}

Vocabulary::Vocabulary(std::vector<std::string> tokens)
    : tokens_(std::move(tokens)), count_(tokens_.size()) {
  make_trie();
}

void Vocabulary::make_trie() {
  std::vector<PieceTrie::Entry> entries;
  entries.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].empty()) entries.emplace_back(tokens_[i], static_cast<Id>(i));
  }
  sort_checked(std::ssize(entries), std::less<>(),
               [&](const auto& before) { std::sort(entries.begin(), entries.end(), before); });
  // Entries without repeats: of equal texts the one with the largest id stays.
  std::vector<PieceTrie::Entry> last;
  for (const PieceTrie::Entry& entry : entries) {
    if (!last.empty() && last.back().first == entry.first) last.pop_back();
    last.push_back(entry);
  }
  trie_.emplace(std::move(last));
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    bytes_.push_back(find(cat("<0x", digits[byte / 16], digits[byte % 16], ">")));
  }
}

}  // namespace ondine::text::tokenizer
