#include "trainer/text/pieces/piece_encoding.h"

#include <algorithm>

#include <ondine/limits.h>

#include "core/message.h"
#include "core/text/utf8.h"
#include "trainer/text/lossy_utf8.h"
#include "trainer/text/pieces/words.h"

namespace ondine::text {
namespace {

constexpr std::size_t section_bytes = 4096;

template <class Wanted>
PieceTrie trie_of(const PieceModel& model, const Wanted& wanted) {
  std::vector<PieceTrie::Entry> entries;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    if (wanted(model.pieces[i])) {
      entries.emplace_back(model.pieces[i].text, static_cast<std::int32_t>(i));
    }
  }
  return PieceTrie(std::move(entries));
}

bool stays_in_word(const Piece& piece) {
  return !piece.is_text() || word_end(piece.text, 0) == std::string_view::npos;
}

std::optional<std::int64_t> control_piece(const PieceModel& model, const PieceTrie& reserved,
                                          const std::string& name) {
  const std::int32_t id = reserved.find(name);
  if (id == PieceTrie::none) return {};
  const bool is_control = model.pieces[static_cast<std::size_t>(id)].type == PieceType::control;
  return is_control ? std::optional<std::int64_t>(id) : std::nullopt;
}

std::vector<std::int64_t> ends_of(const PieceModel& model) {
  std::vector<std::int64_t> ends;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.type != PieceType::control) continue;
    const bool is_usual = std::ranges::find(end_names, piece.text) != end_names.end();
    if (is_usual || piece.text == model.end_piece) ends.push_back(static_cast<std::int64_t>(id));
  }
  return ends;
}

// Collects the text of pieces one after the other.
class Decoder {
 public:
  explicit Decoder(const PieceModel& model)
      : model_(&model),
        drops_first_space_(model.normalizer.add_dummy_prefix ||
                           model.normalizer.remove_extra_whitespaces) {}

  void add_byte(std::int64_t id) {
    const auto found = std::find(model_->bytes.begin(), model_->bytes.end(), id);
    bytes_ += static_cast<char>(found - model_->bytes.begin());
  }

  void add(const Piece& piece) {
    flush();
    if (dropped_space_ || !text_.empty()) at_start_ = false;
    dropped_space_ = false;
    if (piece.type == PieceType::control) return;
    if (piece.type == PieceType::unknown) {
      text_ += model_->unknown_surface;
      return;
    }
    std::string_view rest = piece.text;
    if (at_start_ && drops_first_space_ && rest.starts_with(space_symbol)) {
      rest.remove_prefix(space_symbol.size());
      // Where runs of spaces are removed, so are all at the start.
      dropped_space_ = !model_->normalizer.remove_extra_whitespaces;
    }
    while (!rest.empty()) {
      const bool is_space = rest.starts_with(space_symbol);
      const std::size_t length = is_space ? space_symbol.size() : 1;
      text_ += is_space ? std::string_view(" ") : rest.substr(0, 1);
      rest.remove_prefix(length);
    }
  }

  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    for (std::string_view rest = bytes_; !rest.empty();) {
      const CodePoint character = decode_utf8(rest);
      text_ += character.valid ? rest.substr(0, character.bytes) : replacement_character;
      rest.remove_prefix(character.bytes);
    }
    bytes_.clear();
  }

  const PieceModel* model_;
  bool drops_first_space_;
  bool at_start_ = true;
  bool dropped_space_ = false;
  std::string bytes_;  // of byte pieces that may make characters
  std::string text_;
};

}  // namespace

PieceEncoding::PieceEncoding(std::string file)
    : file_(std::move(file)),
      model_(read_piece_model(file_)),
      pieces_(trie_of(model_, [](const Piece& piece) { return piece.is_text(); })),
      reserved_(trie_of(model_, [](const Piece& piece) { return !piece.is_text(); })),
      user_defined_(trie_of(
          model_, [](const Piece& piece) { return piece.type == PieceType::user_defined; })),
      tables_{&model_, &pieces_, &reserved_, &user_defined_},
      normalizer_(model_.normalizer, user_defined_),
      unigram_(tables_),
      stay_in_words_(std::all_of(model_.pieces.begin(), model_.pieces.end(), stays_in_word)),
      end_(control_piece(model_, reserved_, model_.end_piece)),
      padding_(control_piece(model_, reserved_, model_.pad_piece)
                   .value_or(end_.value_or(model_.unknown))),
      ends_(ends_of(model_)) {
  model_.normalizer.charsmap = {};
}

void PieceEncoding::read_section(NormalizedText& source, std::string& text,
                                 std::string& section) const {
  std::size_t from = section_bytes;
  std::size_t end = std::string::npos;
  while (true) {
    if (stay_in_words_) end = word_end(text, from);
    if (end != std::string::npos || source.at_end()) break;
    from = std::max(from, text.size());
    source.append(text, text.size() + section_bytes);
    // A section takes about 64 times its size while it is cut.
    if (text.size() > default_arena_bytes() / 64) {
      fail(ErrorCode::limit, "a part of the text that must be cut as a whole has more than ",
           text.size(), " bytes");
    }
  }
  section = text.substr(0, end);
  text.erase(0, section.size());
}

std::vector<std::int64_t> PieceEncoding::encode(std::string_view text) const {
  NormalizedText source(normalizer_, text);
  std::vector<std::int64_t> ids;
  std::vector<Segment> segments;
  bool after_unknown = false;
  std::string rest;
  std::string section;
  while (!source.at_end() || !rest.empty()) {
    read_section(source, rest, section);
    segments.clear();
    if (model_.type == PieceModelType::unigram) {
      unigram_.append(section, segments);
    } else {
      append_merged(tables_, section, segments);
    }
    append_ids(segments, after_unknown, ids);
  }
  return ids;
}

// Neighbours that are unknown are one id, or one for each byte.
void PieceEncoding::append_ids(std::span<const Segment> segments, bool& after_unknown,
                               std::vector<std::int64_t>& ids) const {
  for (const auto& [text, id] : segments) {
    const bool is_unknown = id == model_.unknown;
    if (is_unknown && model_.byte_fallback) {
      for (const char byte : text) ids.push_back(model_.bytes[static_cast<unsigned char>(byte)]);
    } else if (!is_unknown || !after_unknown) {
      ids.push_back(id);
    }
    after_unknown = is_unknown;
  }
}

const Piece& PieceEncoding::piece_of(std::int64_t id) const {
  if (id < 0 || id >= size()) {
    fail(ErrorCode::mismatch, "id ", id, " is none of ", size(),
         " of the encoding 'sentencepiece'");
  }
  return model_.pieces[static_cast<std::size_t>(id)];
}

std::string PieceEncoding::decode(std::span<const std::int64_t> ids) const {
  Decoder decoder(model_);
  for (const std::int64_t id : ids) {
    const Piece& piece = piece_of(id);
    if (piece.type == PieceType::byte) {
      decoder.add_byte(id);
    } else {
      decoder.add(piece);
    }
  }
  return decoder.take();
}

}  // namespace ondine::text
