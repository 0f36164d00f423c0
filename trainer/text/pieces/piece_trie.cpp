#include "trainer/text/pieces/piece_trie.h"

#include <algorithm>
#include <deque>

#include "core/message.h"

namespace ondine::text {
namespace {

// Sorted entries that share the prefix of a node.
struct Range {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
};

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end - a.begin());
}

}  // namespace

PieceTrie::PieceTrie(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].first == entries[i - 1].first) {
      fail(ErrorCode::corrupt, "pieces ", entries[i - 1].second, " and ", entries[i].second,
           " are both ", quoted(entries[i].first));
    }
  }
  nodes_.emplace_back();
  labels_.push_back(0);
  // Ranges of nodes in their order; children are appended as their parent is visited.
  std::deque<Range> ranges{{0, entries.size(), 0}};
  for (std::size_t node = 0; !ranges.empty(); ++node) {
    Range range = ranges.front();
    ranges.pop_front();
    nodes_[node].first = static_cast<std::uint32_t>(nodes_.size());
    if (range.begin < range.end && entries[range.begin].first.size() == range.depth) {
      nodes_[node].id = entries[range.begin++].second;
    }
    while (range.begin < range.end) {
      const std::string_view first = entries[range.begin].first;
      std::size_t end = range.begin + 1;
      while (end < range.end && entries[end].first[range.depth] == first[range.depth]) ++end;
      // Sorted texts share what the first and the last of them share.
      const std::size_t depth = common_prefix(first, entries[end - 1].first);
      nodes_.emplace_back().tail = first.substr(range.depth + 1, depth - range.depth - 1);
      labels_.push_back(static_cast<unsigned char>(first[range.depth]));
      ++nodes_[node].count;
      ranges.push_back({range.begin, end, depth});
      range.begin = end;
    }
  }
  firsts_.resize(256);
  for (std::uint32_t i = 0; i < nodes_[0].count; ++i) {
    firsts_[labels_[nodes_[0].first + i]] = nodes_[0].first + i;
  }
}

std::size_t PieceTrie::child(std::size_t node, std::string_view text) const {
  const auto wanted = static_cast<unsigned char>(text[0]);
  if (node == 0) {
    const std::uint32_t first = firsts_[wanted];
    return first != 0 && text.substr(1).starts_with(nodes_[first].tail) ? first : 0;
  }
  const auto first = labels_.begin() + nodes_[node].first;
  const auto last = first + nodes_[node].count;
  const auto found = std::lower_bound(first, last, wanted);
  if (found == last || *found != wanted) return 0;
  const auto child = static_cast<std::size_t>(found - labels_.begin());
  return text.substr(1).starts_with(nodes_[child].tail) ? child : 0;
}

std::int32_t PieceTrie::find(std::string_view text) const {
  std::size_t node = 0;
  while (!text.empty()) {
    node = child(node, text);
    if (node == 0) return none;
    text.remove_prefix(1 + nodes_[node].tail.size());
  }
  return nodes_[node].id;
}

std::size_t PieceTrie::longest_prefix(std::string_view text) const {
  std::size_t longest = 0;
  for_each_prefix(text, [&](std::size_t length, std::int32_t) { longest = length; });
  return longest;
}

}  // namespace ondine::text
