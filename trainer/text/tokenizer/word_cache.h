// Ids of words that were cut before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ondine::text::tokenizer {

// At most 2^15 words of 64 bytes; when it is full it forgets them all. A word that shares its
// place with others, however a text is made, takes at most a few looks.
class WordCache {
 public:
  // Ids of a word that put() was called for, unless it was forgotten.
  std::optional<std::span<const std::int64_t>> find(std::string_view word) const;
  void put(std::string_view word, std::span<const std::int64_t> ids);

 private:
  static constexpr std::size_t most_words = std::size_t{1} << 15;
  static constexpr std::size_t most_word_bytes = 64;
  static constexpr std::size_t slots = 2 * most_words;
  static constexpr std::size_t most_looks = 8;
  struct Entry {
    std::uint64_t hash = 0;  // 0: empty
    std::uint32_t word = 0;  // where its bytes begin
    std::uint32_t ids = 0;
    std::uint16_t bytes = 0;
    std::uint16_t count = 0;
  };

  static std::uint64_t hash_of(std::string_view word) noexcept;
  bool is(const Entry& entry, std::uint64_t hash, std::string_view word) const;

  std::vector<Entry> entries_;
  std::string words_;
  std::vector<std::int64_t> ids_;
  std::size_t count_ = 0;
};

}  // namespace ondine::text::tokenizer
