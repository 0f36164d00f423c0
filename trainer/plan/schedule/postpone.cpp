#include "trainer/plan/schedule/postpone.h"

#include <algorithm>
#include <optional>

#include "graph/contract/aliasing.h"
#include "trainer/plan/inputs.h"
#include "trainer/plan/schedule/lifetimes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Less is not worth a look at all lifetimes.
constexpr std::size_t least_moved_bytes = std::size_t{1} << 20;

struct Move {
  std::size_t from = 0;
  std::size_t before = 0;
  std::size_t bytes = 0;  // fewer at the peak
};

class MoveChooser {
 public:
  MoveChooser(const Graph& graph, const std::vector<bool>& outside, const Lifetimes& lives)
      : graph_(graph), outside_(outside), lives_(lives), peak_(lives.peak_position()) {}

  // The move after which least is held at the peak.
  std::optional<Move> best(std::size_t commit_begin, bool within_commits) const {
    std::optional<Move> best;
    for (std::size_t i = 0; i <= peak_ && (within_commits || i < commit_begin); ++i) {
      const std::optional<Move> move = move_of(i);
      if (move && (!best || move->bytes > best->bytes)) best = move;
    }
    if (best && best->from < commit_begin) best->before = std::min(best->before, commit_begin);
    return best;
  }

 private:
  std::optional<Move> move_of(std::size_t i) const {
    const Node& node = graph_.nodes[i];
    if (!node.subgraphs.empty() || viewed_input(node) != no_value) return std::nullopt;
    Move move{i, Lifetimes::none, 0};
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      const std::size_t first = lives_.next_use(id, i);
      if (outside_[index(id)] || first == Lifetimes::none || first <= peak_) return std::nullopt;
      move.before = std::min(move.before, first);
      move.bytes += bytes_of(graph_[id].type);
    }
    const std::optional<std::size_t> held = held_bytes(node);
    if (!held || move.bytes < least_moved_bytes + *held) return std::nullopt;
    move.bytes -= *held;
    return move;
  }

  // Bytes of inputs that would be held at the peak for this node alone; nullopt if it reads a value
  // that is not made in the arena, which an update may write over.
  std::optional<std::size_t> held_bytes(const Node& node) const {
    std::vector<ValueId> roots;
    for (const ValueId id : node.inputs) {
      if (id != no_value) roots.push_back(lives_.root(id));
    }
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    std::size_t bytes = 0;
    for (const ValueId root : roots) {
      if (lives_.made(root) == Lifetimes::none || outside_[index(root)]) return std::nullopt;
      if (lives_.last_use(root) < peak_) bytes += bytes_of(graph_[root].type);
    }
    return bytes;
  }

  const Graph& graph_;
  const std::vector<bool>& outside_;
  const Lifetimes& lives_;
  std::size_t peak_;
};

bool has_large_value(const Graph& graph, const std::vector<bool>& outside) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != no_value && !outside[index(id)] && bytes_of(graph[id].type) >= least_moved_bytes) {
        return true;
      }
    }
  }
  return false;
}

template <class T>
void move_item(std::vector<T>& list, const Move& move) {
  const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  std::rotate(at(move.from), at(move.from + 1), at(move.before));
}

template <class T>
void move_back(std::vector<T>& list, const Move& move) {
  const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  std::rotate(at(move.from), at(move.before - 1), at(move.before));
}

}  // namespace

void postpone_nodes(Graph& graph, const std::vector<bool>& outside, std::size_t commit_begin,
                    std::vector<std::size_t>& former, bool within_commits) {
  if (!has_large_value(graph, outside)) return;
  Lifetimes lives(graph, outside);
  for (;;) {
    const auto move = MoveChooser(graph, outside, lives).best(commit_begin, within_commits);
    if (!move) return;
    move_item(graph.nodes, *move);
    Lifetimes next(graph, outside);
    if (next.peak_bytes() >= lives.peak_bytes()) return move_back(graph.nodes, *move);
    move_item(former, *move);
    lives = std::move(next);
  }
}

}  // namespace ondine::trainer
