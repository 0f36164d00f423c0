// Texts as pieces are found in them.
#pragma once

#include <string>
#include <string_view>

#include "trainer/text/pieces/charsmap.h"
#include "trainer/text/pieces/piece_model.h"
#include "trainer/text/pieces/piece_trie.h"

namespace ondine::text {

// Bytes of the character that begins with `lead`, in UTF-8.
inline std::size_t character_bytes(char lead) noexcept {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

class Normalizer {
 public:
  // `kept`: texts that are not changed; must outlive this. Errors: see Charsmap.
  Normalizer(const NormalizerRules& rules, const PieceTrie& kept);

 private:
  friend class NormalizedText;
  // The text for the first `length` bytes of another.
  struct Step {
    std::size_t length;
    std::string_view text;
  };
  Step first_step(std::string_view text) const;
  void append(std::string& to, std::string_view text) const;

  NormalizerRules rules_;
  Charsmap charsmap_;
  const PieceTrie* kept_;
  std::string_view space_;
};

// A text, UTF-8 without a zero byte, with characters replaced, spaces at both ends and runs of them
// removed, one added in front (or after), and spaces as space_symbol, as the rules say. It is made
// part by part, so that a long one takes little memory.
class NormalizedText {
 public:
  // Both must outlive this.
  NormalizedText(const Normalizer& normalizer, std::string_view text);

  // Appends parts, whole characters each, to `to`, which has what came before and was not used,
  // until it has `bytes` bytes or all is there. Error(limit) where rules make more of a text than
  // those of a language do, and from check_stop().
  void append(std::string& to, std::size_t bytes);
  bool at_end() const noexcept { return at_end_; }

 private:
  void end(std::string& to);

  const Normalizer* normalizer_;
  std::string_view rest_;
  std::size_t left_;  // bytes that may still be made
  bool at_start_ = true;
  bool after_space_;
  bool at_end_ = false;
};

}  // namespace ondine::text
