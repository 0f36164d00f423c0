// Texts with their ids, found by prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ondine::text {

// A node for each text and for each prefix at which texts part, so that memory follows from the
// number of texts and a long text costs one comparison. The children of a node lie next to each
// other, sorted.
class PieceTrie {
 public:
  using Entry = std::pair<std::string_view, std::int32_t>;
  static constexpr std::int32_t none = -1;

  // Error(corrupt) naming a text that is there twice. No text may be empty, ids not negative. The
  // texts must outlive this.
  explicit PieceTrie(std::vector<Entry> entries);

  std::int32_t find(std::string_view text) const;  // none where it is no entry
  // Length of the longest entry that `text` begins with; 0 where there is none.
  std::size_t longest_prefix(std::string_view text) const;
  // Calls take(length, id) for each entry that `text` begins with, the shortest first.
  template <class Take>
  void for_each_prefix(std::string_view text, const Take& take) const {
    std::size_t node = 0;
    for (std::size_t at = 0; at < text.size();) {
      node = child(node, text.substr(at));
      if (node == 0) return;
      at += 1 + nodes_[node].tail.size();
      if (nodes_[node].id != none) take(at, nodes_[node].id);
    }
  }

 private:
  struct Node {
    std::string_view tail;  // of its prefix, after its label
    std::int32_t id = none;
    std::uint32_t first = 0;  // child
    std::uint16_t count = 0;  // of children
  };

  // The one whose label and tail `text`, which is not empty, begins with; 0, the root, where there
  // is none.
  std::size_t child(std::size_t node, std::string_view text) const;

  std::vector<Node> nodes_;
  std::vector<unsigned char> labels_;  // of each node, the byte after its parent's prefix
  std::vector<std::uint32_t>
      firsts_;  // by the first byte of a text, the child of the root; 0: none
};

}  // namespace ondine::text
