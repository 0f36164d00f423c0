// Texts as ids of the pieces of a SentencePiece model, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/pieces/normalizer.h"
#include "trainer/text/pieces/piece_model.h"
#include "trainer/text/pieces/piece_trie.h"
#include "trainer/text/pieces/segment.h"
#include "trainer/text/token_coder.h"

namespace ondine::text {

class PieceEncoding final : public TokenCoder {
 public:
  // The content of a .model file. Errors: see read_piece_model and Charsmap.
  explicit PieceEncoding(std::string file);

  // Ids as the sentencepiece library gives them, without control pieces around them. A text is cut
  // between words into parts of at least 4096 bytes where no piece can lie across: sums of scores
  // stay small, and so exact. The text is UTF-8 without a zero byte.
  std::vector<std::int64_t> encode(std::string_view text) const override;
  // UTF-8: bytes that make no character become U+FFFD. Error(mismatch) for a number that is no id.
  std::string decode(std::span<const std::int64_t> ids) const override;

  std::int64_t size() const noexcept override {
    return static_cast<std::int64_t>(model_.pieces.size());
  }
  // The piece for padding, else that for the end of a text, else the unknown one.
  std::int64_t padding() const noexcept override { return padding_; }
  // The control piece for it.
  std::optional<std::int64_t> end_of_text() const noexcept override { return end_; }
  const std::string& file() const noexcept override { return file_; }
  std::span<const std::int64_t> ends() const noexcept override { return ends_; }
  const char* name() const noexcept override { return "sentencepiece"; }

 private:
  // Moves the next part that can be cut by itself from `text`, the part of the source that was
  // read, to `section`.
  void read_section(NormalizedText& source, std::string& text, std::string& section) const;
  void append_ids(std::span<const Segment> segments, bool& after_unknown,
                  std::vector<std::int64_t>& ids) const;
  const Piece& piece_of(std::int64_t id) const;

  std::string file_;
  PieceModel model_;
  PieceTrie pieces_;
  PieceTrie reserved_;
  PieceTrie user_defined_;
  PieceTables tables_;
  Normalizer normalizer_;
  UnigramSegmenter unigram_;
  bool stay_in_words_;  // no piece has a space after another character
  std::optional<std::int64_t> end_;
  std::int64_t padding_;
  std::vector<std::int64_t> ends_;
};

}  // namespace ondine::text
