#include "trainer/text/tokenizer/word_cache.h"

#include <cstring>

namespace ondine::text::tokenizer {

std::uint64_t WordCache::hash_of(std::string_view word) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = word.size() * factor;
  while (!word.empty()) {
    std::uint64_t part = 0;
    const std::size_t bytes = word.size() < sizeof part ? word.size() : sizeof part;
    std::memcpy(&part, word.data(), bytes);
    hash = (hash ^ part) * factor;
    hash ^= hash >> 32;
    word.remove_prefix(bytes);
  }
  return hash | 1U;
}

bool WordCache::is(const Entry& entry, std::uint64_t hash, std::string_view word) const {
  return entry.hash == hash && entry.bytes == word.size() &&
         std::string_view(words_).substr(entry.word, entry.bytes) == word;
}

std::optional<std::span<const std::int64_t>> WordCache::find(std::string_view word) const {
  if (word.size() > most_word_bytes || entries_.empty()) return {};
  const std::uint64_t hash = hash_of(word);
  for (std::size_t i = 0; i < most_looks; ++i) {
    const Entry& entry = entries_[(hash / 2 + i) % slots];
    if (entry.hash == 0) return {};
    if (is(entry, hash, word)) return std::span(ids_).subspan(entry.ids, entry.count);
  }
  return {};
}

void WordCache::put(std::string_view word, std::span<const std::int64_t> ids) {
  if (word.size() > most_word_bytes || ids.size() > UINT16_MAX) return;
  if (count_ == most_words) {
    entries_.clear();
    words_.clear();
    ids_.clear();
    count_ = 0;
  }
  entries_.resize(slots);
  const std::uint64_t hash = hash_of(word);
  for (std::size_t i = 0; i < most_looks; ++i) {
    Entry& entry = entries_[(hash / 2 + i) % slots];
    if (entry.hash != 0) continue;
    entry = {hash, static_cast<std::uint32_t>(words_.size()),
             static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint16_t>(word.size()),
             static_cast<std::uint16_t>(ids.size())};
    words_ += word;
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    ++count_;
    return;
  }
}

}  // namespace ondine::text::tokenizer
