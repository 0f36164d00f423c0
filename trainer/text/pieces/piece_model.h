// Content of a SentencePiece model file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ondine::text {

// U+2581, which stands for a space within pieces.
inline constexpr std::string_view space_symbol = "\xe2\x96\x81";

// Numbers as in the file.
enum class PieceType : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};
enum class PieceModelType : std::uint8_t { unigram = 1, bpe = 2 };

struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;

  // Whether it is found in texts.
  bool is_text() const noexcept {
    return type == PieceType::normal || type == PieceType::user_defined ||
           type == PieceType::unused;
  }
};

struct NormalizerRules {
  std::string charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool whitespace_as_suffix = false;
};

struct PieceModel {
  PieceModelType type = PieceModelType::unigram;
  std::vector<Piece> pieces;  // a position is the id
  NormalizerRules normalizer;
  bool byte_fallback = false;
  std::string unknown_surface = " \xe2\x81\x87 ";  // text of the unknown piece
  std::string end_piece = "</s>";
  std::string pad_piece = "<pad>";
  std::int32_t unknown = -1;
  std::array<std::int32_t, 256> bytes{};  // with byte_fallback: the id of each byte
};

// Reads a ModelProto. All texts are UTF-8 and pieces not empty, scores are finite, exactly one
// piece is unknown, there is a piece of text, and with byte_fallback a piece for each byte, which
// no other model has. Error(corrupt) for a file that breaks a rule, Error(unsupported) for a model
// of words or characters and one that changes decoded texts, Error(limit) for a file above 64 MiB,
// a piece above 4096 bytes and more than 2^21 pieces.
PieceModel read_piece_model(std::string_view file);

}  // namespace ondine::text
