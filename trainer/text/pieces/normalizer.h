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

  // Replaces characters, removes spaces at both ends and runs of them, adds one in front (or
  // after), and writes spaces as space_symbol, as the rules say. `text` is UTF-8 without a zero
  // byte.
  std::string normalize(std::string_view text) const;

 private:
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

}  // namespace ondine::text
