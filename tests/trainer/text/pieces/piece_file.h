// Writes SentencePiece model files, right and wrong ones.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/text.h>

namespace ondine::test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string uint32_bytes(std::uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}
inline std::string number_field(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}
inline std::string float_field(std::uint32_t number, float value) {
  return varint(number << 3 | 5) + uint32_bytes(std::bit_cast<std::uint32_t>(value));
}
inline std::string block_field(std::uint32_t number, std::string_view content) {
  return varint(number << 3 | 2) + varint(content.size()) + std::string(content);
}

// Types of pieces and models as the file format numbers them.
inline constexpr int normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6;
inline constexpr int unigram = 1, bpe = 2;

struct PieceFile {
  std::string pieces;
  std::string trainer = number_field(3, unigram);
  std::string normalizer;

  PieceFile& add(std::string_view text, float score = 0, int type = normal) {
    std::string piece = block_field(1, text) + float_field(2, score);
    if (type != normal) piece += number_field(3, static_cast<std::uint64_t>(type));
    pieces += block_field(1, piece);
    return *this;
  }
  // <unk>, <s> and </s>, as most files begin.
  PieceFile& add_usual() {
    return add("<unk>", 0, unknown).add("<s>", 0, control).add("</s>", 0, control);
  }
  PieceFile& add_bytes() {
    trainer += number_field(35, 1);
    for (int value = 0; value < 256; ++value) {
      char text[8];
      std::snprintf(text, sizeof text, "<0x%02X>", static_cast<unsigned>(value));
      add(text, 0, byte);
    }
    return *this;
  }

  std::string file() const { return pieces + block_field(2, trainer) + block_field(3, normalizer); }
  TextEncoding encoding() const {
    const std::string bytes = file();
    return TextEncoding::sentencepiece(std::as_bytes(std::span(bytes)));
  }
};

// A double array in blocks of 256 units, one block for the children of each node.
class TrieWriter {
 public:
  TrieWriter() { units.resize(512); }

  void add(std::string_view key, std::uint32_t value) {
    std::uint32_t at = 0;
    set_base(at);
    for (const char c : key) {
      const std::uint32_t label = static_cast<unsigned char>(c);
      at = bases[at] ^ label;
      units[at] = (units[at] & ~0xffU) | label;
      set_base(at);
    }
    units[at] |= 0x100;
    units[bases[at]] = value | 0x80000000U;
  }

  std::vector<std::uint32_t> units;
  std::map<std::uint32_t, std::uint32_t> bases;  // of the units of nodes

 private:
  void set_base(std::uint32_t at) {
    if (bases.contains(at)) return;
    const auto base = static_cast<std::uint32_t>(256 * (bases.size() + 1));
    units.resize(base + 256);
    bases[at] = base;
    units[at] |= (at ^ base) << 10;
  }
};

inline std::string charsmap(const std::vector<std::uint32_t>& units, std::string_view texts) {
  std::string bytes = uint32_bytes(static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) bytes += uint32_bytes(unit);
  return bytes + std::string(texts);
}

inline std::string charsmap(const std::vector<std::pair<std::string, std::string>>& rules) {
  TrieWriter trie;
  std::string texts;
  for (const auto& [key, text] : rules) {
    trie.add(key, static_cast<std::uint32_t>(texts.size()));
    texts += text + '\0';
  }
  return charsmap(trie.units, texts);
}

}  // namespace ondine::test
