// The segmentation of a text with the largest sum of scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/stop.h"
#include "trainer/text/pieces/normalizer.h"
#include "trainer/text/pieces/piece_trie.h"
#include "trainer/text/pieces/segment.h"

namespace ondine::text {

template <class Score>
class BestPath {
 public:
  struct Unknown {
    std::int32_t id;
    Score score;
  };

  // Appends the segments of a text. `score_of(length, id, score)` tells the score of a piece, or
  // returns false for one that is not used; a character that is no piece is unknown.
  template <class ScoreOf>
  void append(const PieceTrie& pieces, std::string_view text, Unknown unknown,
              const ScoreOf& score_of, std::vector<Segment>& segments) {
    nodes_.assign(text.size() + 1, {});
    for (std::size_t at = 0; at < text.size();) {
      checkpoint(256);
      const Score before = nodes_[at].score;
      const std::size_t character = std::min(character_bytes(text[at]), text.size() - at);
      bool is_known = false;
      pieces.for_each_prefix(text.substr(at), [&](std::size_t length, std::int32_t id) {
        Score score = 0;
        if (!score_of(length, id, score)) return;
        nodes_[at + length].improve(at, id, score + before);
        if (length == character) is_known = true;
      });
      if (!is_known) nodes_[at + character].improve(at, unknown.id, unknown.score + before);
      at += character;
    }
    const auto first = static_cast<std::ptrdiff_t>(segments.size());
    for (std::size_t end = text.size(); end > 0; end = nodes_[end].begin) {
      const Node& node = nodes_[end];
      segments.push_back({text.substr(node.begin, end - node.begin), node.id});
    }
    std::reverse(segments.begin() + first, segments.end());
  }

 private:
  // The best segmentation up to some byte: the last segment, and the sum of all scores.
  struct Node {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t begin = none;  // of the last segment
    std::int32_t id = 0;
    Score score = 0;

    // Takes a segment with a larger score; among equal scores the one that begins first stays.
    void improve(std::size_t from, std::int32_t piece, Score sum) {
      if (begin == none || sum > score) *this = {from, piece, sum};
    }
  };

  std::vector<Node> nodes_;
};

}  // namespace ondine::text
