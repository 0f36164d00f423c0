#include <algorithm>
#include <limits>

#include "core/stop.h"
#include "trainer/text/pieces/normalizer.h"
#include "trainer/text/pieces/segment.h"

namespace ondine::text {
namespace {

constexpr float unknown_penalty = 10;

// The best segmentation of a text up to some byte: the last segment, and the sum of all scores.
struct Path {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t begin = none;  // of the last segment
  std::int32_t id = 0;
  float score = 0;

  // Of equal scores the segment that begins first stays.
  void improve(std::size_t from, std::int32_t piece, float sum) {
    if (begin == none || sum > score) *this = {from, piece, sum};
  }
};

// Above that of all usual pieces, which are logarithms of probabilities, so that user-defined ones
// win; as in version 0.2.3 of the library.
float user_defined_score(std::size_t length) {
  return static_cast<float>(0.1 * static_cast<double>(length - 1));
}

}  // namespace

UnigramSegmenter::UnigramSegmenter(const PieceTables& tables) : tables_(&tables) {
  float least = std::numeric_limits<float>::max();
  for (const Piece& piece : tables.model->pieces) {
    if (piece.type == PieceType::normal) least = std::min(least, piece.score);
  }
  unknown_score_ = least - unknown_penalty;
}

void UnigramSegmenter::append(std::string_view text, std::vector<Segment>& segments) const {
  const std::vector<Piece>& pieces = tables_->model->pieces;
  std::vector<Path> paths(text.size() + 1);
  constexpr std::size_t between_checks = 4096;
  std::size_t next_check = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (at >= next_check) {
      check_stop();
      next_check = at + between_checks;
    }
    const float before = paths[at].score;
    const std::size_t character = std::min(character_bytes(text[at]), text.size() - at);
    bool is_known = false;
    tables_->pieces->for_each_prefix(text.substr(at), [&](std::size_t length, std::int32_t id) {
      const Piece& piece = pieces[static_cast<std::size_t>(id)];
      if (piece.type == PieceType::unused) return;
      // The bonus that makes user-defined pieces win.
      const float score =
          piece.type == PieceType::user_defined ? user_defined_score(length) : piece.score;
      paths[at + length].improve(at, id, score + before);
      if (length == character) is_known = true;
    });
    if (!is_known) {
      paths[at + character].improve(at, tables_->model->unknown, unknown_score_ + before);
    }
    at += character;
  }
  const auto first = static_cast<std::ptrdiff_t>(segments.size());
  for (std::size_t end = text.size(); end > 0; end = paths[end].begin) {
    const Path& path = paths[end];
    segments.push_back({text.substr(path.begin, end - path.begin), path.id});
  }
  std::reverse(segments.begin() + first, segments.end());
}

}  // namespace ondine::text
