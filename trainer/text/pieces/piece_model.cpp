#include "trainer/text/pieces/piece_model.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "core/text/utf8.h"
#include "trainer/text/pieces/fields.h"

namespace ondine::text {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{64} << 20;
constexpr std::size_t most_piece_bytes = 4096;
constexpr std::size_t most_pieces = std::size_t{1} << 21;

std::string utf8_block(const Field& field, const char* name) {
  const std::string_view text = field.block(name);
  if (!is_utf8(text)) fail(ErrorCode::corrupt, name, " is not UTF-8");
  return std::string(text);
}

Piece read_piece(std::string_view message) {
  Piece piece;
  Field field;
  for (FieldReader reader(message); reader.next(field);) {
    if (field.number == 1) {
      piece.text = utf8_block(field, "the text of a piece");
    } else if (field.number == 2) {
      piece.score = field.number32("the score of a piece");
    } else if (field.number == 3) {
      const std::uint64_t type = field.integer("the type of a piece");
      if (type < 1 || type > 6) fail(ErrorCode::corrupt, "piece type ", type, " is unknown");
      piece.type = static_cast<PieceType>(type);
    }
  }
  return piece;
}

void read_trainer(std::string_view message, PieceModel& model) {
  Field field;
  for (FieldReader reader(message); reader.next(field);) {
    switch (field.number) {
      case 3: {
        const std::uint64_t type = field.integer("the model's type");
        if (type == 3 || type == 4) {
          fail(ErrorCode::unsupported, "a model of ", type == 3 ? "words" : "characters",
               "; unigram and BPE models are supported");
        }
        if (type != 1 && type != 2) fail(ErrorCode::corrupt, "model type ", type, " is unknown");
        model.type = static_cast<PieceModelType>(type);
        break;
      }
      case 24:
        model.normalizer.whitespace_as_suffix = field.flag("treat_whitespace_as_suffix");
        break;
      case 35:
        model.byte_fallback = field.flag("byte_fallback");
        break;
      case 44:
        model.unknown_surface = utf8_block(field, "unk_surface");
        break;
      case 47:
        model.end_piece = utf8_block(field, "eos_piece");
        break;
      case 48:
        model.pad_piece = utf8_block(field, "pad_piece");
        break;
      default:
        break;  // how it was trained
    }
  }
}

void read_normalizer(std::string_view message, NormalizerRules& rules) {
  Field field;
  for (FieldReader reader(message); reader.next(field);) {
    if (field.number == 2) rules.charsmap = field.block("precompiled_charsmap");
    if (field.number == 3) rules.add_dummy_prefix = field.flag("add_dummy_prefix");
    if (field.number == 4) rules.remove_extra_whitespaces = field.flag("remove_extra_whitespaces");
    if (field.number == 5) rules.escape_whitespaces = field.flag("escape_whitespaces");
  }
}

// The byte that a piece such as "<0x0A>" stands for, or -1.
int byte_of(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const std::size_t high = digits.find(text[3]);
  const std::size_t low = digits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return -1;
  return static_cast<int>(high * 16 + low);
}

void check_piece(const Piece& piece) {
  if (piece.text.empty()) fail(ErrorCode::corrupt, "its text is empty");
  if (piece.text.size() > most_piece_bytes) {
    fail(ErrorCode::limit, "it has ", piece.text.size(), " bytes, more than ", most_piece_bytes);
  }
  if (!std::isfinite(piece.score)) fail(ErrorCode::corrupt, "its score is not finite");
}

void place_piece(PieceModel& model, std::int32_t id) {
  const Piece& piece = model.pieces[static_cast<std::size_t>(id)];
  check_piece(piece);
  if (piece.type == PieceType::unknown) {
    if (model.unknown >= 0) {
      fail(ErrorCode::corrupt, "piece ", model.unknown, " stands for the unknown, too");
    }
    model.unknown = id;
  }
  if (piece.type != PieceType::byte) return;
  const int byte = byte_of(piece.text);
  if (byte < 0) fail(ErrorCode::corrupt, quoted(piece.text), " is no byte");
  if (!model.byte_fallback) fail(ErrorCode::corrupt, "it is a byte, and byte_fallback is off");
  model.bytes[static_cast<std::size_t>(byte)] = id;
}

void place_pieces(PieceModel& model) {
  if (model.pieces.empty()) fail(ErrorCode::corrupt, "it has no pieces");
  model.bytes.fill(-1);
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    with_context([&] { place_piece(model, static_cast<std::int32_t>(i)); },
                 [&] { return cat("piece ", i); });
  }
  if (model.unknown < 0) fail(ErrorCode::corrupt, "no piece stands for the unknown");
  if (std::none_of(model.pieces.begin(), model.pieces.end(),
                   [](const Piece& piece) { return piece.is_text(); })) {
    fail(ErrorCode::corrupt, "no piece is text");
  }
  const auto missing = std::find(model.bytes.begin(), model.bytes.end(), -1);
  if (model.byte_fallback && missing != model.bytes.end()) {
    fail(ErrorCode::corrupt, "no piece stands for byte ", missing - model.bytes.begin(),
         ", and byte_fallback is on");
  }
}

}  // namespace

PieceModel read_piece_model(std::string_view file) {
  if (file.size() > most_file_bytes) {
    fail(ErrorCode::limit, "it has ", file.size(), " bytes, more than ", most_file_bytes);
  }
  PieceModel model;
  NormalizerRules denormalizer;
  Field field;
  for (FieldReader reader(file); reader.next(field);) {
    if (field.number == 1) {
      if (model.pieces.size() == most_pieces) {
        fail(ErrorCode::limit, "it has more than ", most_pieces, " pieces");
      }
      model.pieces.push_back(read_piece(field.block("a piece")));
    }
    if (field.number == 2) read_trainer(field.block("trainer_spec"), model);
    if (field.number == 3) read_normalizer(field.block("normalizer_spec"), model.normalizer);
    if (field.number == 5) read_normalizer(field.block("denormalizer_spec"), denormalizer);
  }
  if (!denormalizer.charsmap.empty()) {
    fail(ErrorCode::unsupported, "it changes decoded texts (denormalizer_spec)");
  }
  place_pieces(model);
  return model;
}

}  // namespace ondine::text
