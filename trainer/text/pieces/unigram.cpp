#include <algorithm>
#include <limits>

#include "trainer/text/pieces/best_path.h"
#include "trainer/text/pieces/segment.h"

namespace ondine::text {
namespace {

constexpr float unknown_penalty = 10;

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
  const auto score_of = [&](std::size_t length, std::int32_t id, float& score) {
    const Piece& piece = tables_->model->pieces[static_cast<std::size_t>(id)];
    // The bonus that makes user-defined pieces win.
    score = piece.type == PieceType::user_defined ? user_defined_score(length) : piece.score;
    return piece.type != PieceType::unused;
  };
  BestPath<float>().append(*tables_->pieces, text, {tables_->model->unknown, unknown_score_},
                           score_of, segments);
}

}  // namespace ondine::text
