// Replacements of characters before a text is cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ondine::text {

// A precompiled_charsmap: the size of a trie in bytes (uint32, little-endian), the trie, and
// replacements that end with a zero byte each, which the trie's values are positions of. The trie
// is a double array of the Darts-clone library (https://github.com/s-yata/darts-clone): units of 32
// bits, little-endian.
class Charsmap {
 public:
  Charsmap() = default;  // replaces nothing
  // Checks all that texts can reach. Error(corrupt) for a trie that leaves its array or the
  // replacements or has a cycle, for replacements that are not UTF-8 or have no end, and
  // Error(limit) for a replacement above 1024 bytes and a key above 256, as each byte of a text may
  // begin one.
  explicit Charsmap(std::string_view bytes);

  struct Match {
    std::size_t length = 0;  // bytes of the text to replace; 0: nothing
    std::string_view replacement;
  };
  // For the longest key that `text` begins with. The text has no zero byte.
  Match longest_match(std::string_view text) const { return find(text, false); }
  // For the shortest one, as the `tokenizers` package does.
  Match shortest_match(std::string_view text) const { return find(text, true); }

 private:
  Match find(std::string_view text, bool is_shortest) const;
  void check_trie() const;
  void check_value(std::uint32_t value) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace ondine::text
