#include "trainer/text/pieces/piece_trie.h"

#include <algorithm>

#include "core/message.h"

namespace ondine::text {
namespace {

// Sorted entries that share the prefix of a node.
struct Range {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
};

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
  // Of nodes in their order; children are appended as their parent is visited.
  std::vector<Range> ranges{{0, entries.size(), 0}};
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    Range range = ranges[node];
    nodes_[node].first = static_cast<std::uint32_t>(nodes_.size());
    if (range.begin < range.end && entries[range.begin].first.size() == range.depth) {
      nodes_[node].id = entries[range.begin++].second;
    }
    while (range.begin < range.end) {
      const char label = entries[range.begin].first[range.depth];
      std::size_t end = range.begin + 1;
      while (end < range.end && entries[end].first[range.depth] == label) ++end;
      nodes_.emplace_back();
      labels_.push_back(static_cast<unsigned char>(label));
      ++nodes_[node].count;
      ranges.push_back({range.begin, end, range.depth + 1});
      range.begin = end;
    }
  }
}

std::size_t PieceTrie::child(std::size_t node, char label) const {
  const auto wanted = static_cast<unsigned char>(label);
  const auto first = labels_.begin() + nodes_[node].first;
  const auto last = first + nodes_[node].count;
  const auto found = std::lower_bound(first, last, wanted);
  return found == last || *found != wanted ? 0 : static_cast<std::size_t>(found - labels_.begin());
}

std::int32_t PieceTrie::find(std::string_view text) const {
  std::size_t node = 0;
  for (const char c : text) {
    node = child(node, c);
    if (node == 0) return none;
  }
  return nodes_[node].id;
}

std::size_t PieceTrie::longest_prefix(std::string_view text) const {
  std::size_t longest = 0;
  for_each_prefix(text, [&](std::size_t length, std::int32_t) { longest = length; });
  return longest;
}

}  // namespace ondine::text
