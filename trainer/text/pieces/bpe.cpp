#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/stop.h"
#include "trainer/text/pieces/normalizer.h"
#include "trainer/text/pieces/segment.h"

namespace ondine::text {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

struct Symbol {
  std::string_view text;  // empty once it was merged into its left neighbour
  std::size_t previous;
  std::size_t next;
  bool is_user_defined;
};

// Two neighbours that make a piece.
struct Candidate {
  float score;
  std::size_t left;
  std::size_t right;
  std::size_t bytes;  // of both when it was found

  // For a queue whose top is the best one.
  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && left > other.left);
  }
};

class Merger {
 public:
  Merger(const PieceTables& tables, std::string_view text) : tables_(&tables) {
    while (!text.empty()) {
      const std::size_t kept = tables.user_defined->longest_prefix(text);
      const std::size_t length = kept != 0 ? kept : std::min(character_bytes(text[0]), text.size());
      const std::size_t at = symbols_.size();
      symbols_.push_back({text.substr(0, length), at == 0 ? none : at - 1, at + 1, kept != 0});
      text.remove_prefix(length);
    }
    if (!symbols_.empty()) symbols_.back().next = none;
  }

  void run(std::vector<Segment>& segments) {
    for (std::size_t i = 1; i < symbols_.size(); ++i) consider(i - 1, i);
    for (std::size_t merges = 0; !candidates_.empty(); ++merges) {
      if (merges % 1024 == 0) check_stop();
      const Candidate best = candidates_.top();
      candidates_.pop();
      merge(best);
    }
    for (std::size_t i = symbols_.empty() ? none : 0; i != none; i = symbols_[i].next) {
      write(symbols_[i].text, segments);
    }
  }

 private:
  // Neighbours' texts follow each other.
  std::string_view joined(std::size_t left, std::size_t right) const {
    return {symbols_[left].text.data(), symbols_[left].text.size() + symbols_[right].text.size()};
  }

  void consider(std::size_t left, std::size_t right) {
    if (left == none || right == none) return;
    if (symbols_[left].is_user_defined || symbols_[right].is_user_defined) return;
    const std::string_view text = joined(left, right);
    const std::int32_t id = tables_->pieces->find(text);
    if (id == PieceTrie::none) return;
    const Piece& piece = tables_->model->pieces[static_cast<std::size_t>(id)];
    candidates_.push({piece.score, left, right, text.size()});
    if (piece.type == PieceType::unused) {
      parts_[text] = {symbols_[left].text, symbols_[right].text};
    }
  }

  void merge(const Candidate& best) {
    Symbol& left = symbols_[best.left];
    Symbol& right = symbols_[best.right];
    const bool is_stale = left.text.empty() || right.text.empty() ||
                          left.text.size() + right.text.size() != best.bytes;
    if (is_stale) return;
    left.text = joined(best.left, best.right);
    left.next = right.next;
    if (right.next != none) symbols_[right.next].previous = best.left;
    right.text = {};
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }

  std::int32_t id_of(std::string_view text) const {
    const std::int32_t reserved = tables_->reserved->find(text);
    if (reserved != PieceTrie::none) return reserved;
    const std::int32_t id = tables_->pieces->find(text);
    return id == PieceTrie::none ? tables_->model->unknown : id;
  }

  // Unused pieces as what they were merged of.
  void write(std::string_view text, std::vector<Segment>& segments) const {
    const std::int32_t id = id_of(text);
    const Piece& piece = tables_->model->pieces[static_cast<std::size_t>(id)];
    const auto parts = piece.type == PieceType::unused ? parts_.find(text) : parts_.end();
    if (parts == parts_.end()) {
      segments.push_back({text, id});
      return;
    }
    write(parts->second.first, segments);
    write(parts->second.second, segments);
  }

  const PieceTables* tables_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> candidates_;
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> parts_;
};

}  // namespace

void append_merged(const PieceTables& tables, std::string_view text,
                   std::vector<Segment>& segments) {
  Merger(tables, text).run(segments);
}

}  // namespace ondine::text
