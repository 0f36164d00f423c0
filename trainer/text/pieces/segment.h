// Pieces of a normalized text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/pieces/piece_model.h"
#include "trainer/text/pieces/piece_trie.h"

namespace ondine::text {

// A part of a text and the piece that it is.
struct Segment {
  std::string_view text;
  std::int32_t id;
};

// Where texts are cut. A model and the tries of its pieces; `reserved` are those that are no text.
struct PieceTables {
  const PieceModel* model;
  const PieceTrie* pieces;
  const PieceTrie* reserved;
  const PieceTrie* user_defined;
};

// The segmentation with the largest sum of scores (T. Kudo, ACL 2018). A character that is no piece
// is unknown and costs 10 more than the piece with the least score. User-defined pieces win.
class UnigramSegmenter {
 public:
  explicit UnigramSegmenter(const PieceTables& tables);
  void append(std::string_view text, std::vector<Segment>& segments) const;

 private:
  const PieceTables* tables_;
  float unknown_score_;
};

// Characters, of which the two neighbours that make the piece with the largest score are merged
// until there are none (R. Sennrich et al., ACL 2016); of equal ones the first. User-defined pieces
// are not merged.
void append_merged(const PieceTables& tables, std::string_view text,
                   std::vector<Segment>& segments);

}  // namespace ondine::text
