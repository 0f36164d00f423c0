// The tokens of a model of a tokenizer.json with their ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/pieces/piece_trie.h"
#include "trainer/text/tokenizer/json_tree.h"

namespace ondine::text::tokenizer {

using Id = std::int32_t;
inline constexpr Id no_id = PieceTrie::none;
inline constexpr std::int64_t most_ids = std::int64_t{1} << 21;
inline constexpr std::size_t most_token_bytes = 4096;

class Vocabulary {
 public:
  // Reads an object of tokens and their ids. Error(corrupt) for two tokens with one id or text,
  // Error(limit) for an id from 2^21 on and a token above 4096 bytes.
  explicit Vocabulary(const JsonView& json);
  // Ids are positions; of equal texts the last one is found.
  explicit Vocabulary(std::vector<std::string> tokens);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  Id find(std::string_view token) const { return token.empty() ? no_id : trie_->find(token); }
  const PieceTrie& trie() const { return *trie_; }
  // Tokens by id; empty for an id that no token has.
  const std::vector<std::string>& tokens() const noexcept { return tokens_; }
  std::size_t count() const noexcept { return count_; }
  // The ids of tokens such as "<0x0A>" for each byte, which may be none.
  Id byte(unsigned char byte) const { return bytes_[byte]; }

 private:
  void make_trie();

  std::vector<std::string> tokens_;
  std::size_t count_ = 0;
  std::optional<PieceTrie> trie_;
  std::vector<Id> bytes_;
};

// Error(limit) where the token is too long.
void check_token(std::string_view token);

}  // namespace ondine::text::tokenizer
