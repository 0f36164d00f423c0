#include "trainer/text/tokenizer/added_tokens.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "core/text/utf8.h"
#include "trainer/text/tokenizer/unicode.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_tokens = std::size_t{1} << 20;

// The last character of a text that is not empty.
char32_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80) --at;
  return decode_utf8(text.substr(at)).value;
}

}  // namespace

std::size_t spaces_at_end(std::string_view text) {
  const std::size_t all = text.size();
  while (!text.empty() && is_space(last_character(text))) {
    checkpoint(16);
    while ((static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80) text.remove_suffix(1);
    text.remove_suffix(1);
  }
  return all - text.size();
}

std::size_t spaces_at_begin(std::string_view text) {
  const std::size_t all = text.size();
  while (!text.empty()) {
    checkpoint(16);
    const CodePoint c = decode_utf8(text);
    if (!is_space(c.value)) break;
    text.remove_prefix(c.bytes);
  }
  return all - text.size();
}

AddedTokens::AddedTokens(const JsonView& json, const Vocabulary& vocabulary,
                         const Normalizers& normalizers) {
  json.require(JsonKind::list);
  if (json.count() > most_tokens) {
    fail(ErrorCode::limit, "there are ", json.count(), " added tokens, more than ", most_tokens);
  }
  auto next_id = static_cast<std::int64_t>(vocabulary.count());
  json.each_item([&](const JsonView& one) {
    checkpoint(1024);
    Token token = read(one, normalizers);
    if (token.content.empty()) return;
    token.id = vocabulary.find(token.content);
    if (token.id == no_id) {
      if (next_id >= most_ids) fail(ErrorCode::limit, "an id is above ", most_ids - 1);
      token.id = static_cast<Id>(next_id++);
    }
    tokens_.push_back(std::move(token));
  });
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    by_id_.push_back(i);
    by_content_.push_back(i);
  }
  std::sort(by_id_.begin(), by_id_.end(),
            [&](std::size_t a, std::size_t b) { return tokens_[a].id < tokens_[b].id; });
  std::sort(by_content_.begin(), by_content_.end(),
            [&](std::size_t a, std::size_t b) { return tokens_[a].content < tokens_[b].content; });
  as_written_.emplace(finder(false));
  normalized_.emplace(finder(true));
}

AddedTokens::Token AddedTokens::read(const JsonView& json, const Normalizers& normalizers) const {
  json.allow_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  Token token;
  token.content = json.at("content").text();
  check_token(token.content);
  token.single_word = json.flag_or("single_word", false);
  token.lstrip = json.flag_or("lstrip", false);
  token.rstrip = json.flag_or("rstrip", false);
  token.normalized = json.flag_or("normalized", false);
  token.special = json.flag_or("special", false);
  token.found = token.content;
  if (token.normalized) {
    NormalText text{token.content};
    normalize(normalizers, text);
    token.found = std::move(text.text);
  }
  return token;
}

AddedTokens::Finder::Finder(std::vector<PieceTrie::Entry> entries)
    : trie(entries), begins(256), is_empty(entries.empty()) {
  for (const PieceTrie::Entry& entry : entries) {
    begins[static_cast<unsigned char>(entry.first[0])] = true;
  }
}

AddedTokens::Finder AddedTokens::finder(bool normalized) const {
  std::vector<PieceTrie::Entry> entries;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].normalized != normalized || tokens_[i].found.empty()) continue;
    entries.emplace_back(tokens_[i].found, static_cast<std::int32_t>(i));
  }
  return Finder(std::move(entries));
}

AddedTokens::Found AddedTokens::next(const Finder& finder, std::string_view text,
                                     std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!finder.begins[static_cast<unsigned char>(text[at])]) continue;
    checkpoint(256);
    Found found{at, at, nullptr};
    finder.trie.for_each_prefix(text.substr(at), [&](std::size_t length, std::int32_t i) {
      found.end = at + length;
      found.token = &tokens_[static_cast<std::size_t>(i)];
    });
    if (found.token != nullptr) return found;
  }
  return {text.size(), text.size(), nullptr};
}

bool AddedTokens::fits(const Found& found, std::string_view text) const {
  const bool follows = found.begin > 0 && is_word(last_character(text.substr(0, found.begin)));
  const bool precedes =
      found.end < text.size() && is_word(decode_utf8(text.substr(found.end)).value);
  return !follows && !precedes;
}

const AddedTokens::Token* AddedTokens::find(std::int64_t id) const noexcept {
  const auto at =
      std::lower_bound(by_id_.begin(), by_id_.end(), id,
                       [&](std::size_t i, std::int64_t wanted) { return tokens_[i].id < wanted; });
  return at != by_id_.end() && tokens_[*at].id == id ? &tokens_[*at] : nullptr;
}

const AddedTokens::Token* AddedTokens::find(std::string_view content) const noexcept {
  const auto at = std::lower_bound(
      by_content_.begin(), by_content_.end(), content,
      [&](std::size_t i, std::string_view wanted) { return tokens_[i].content < wanted; });
  return at != by_content_.end() && tokens_[*at].content == content ? &tokens_[*at] : nullptr;
}

}  // namespace ondine::text::tokenizer
