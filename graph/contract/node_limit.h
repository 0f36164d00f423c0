// Limits::nodes for the graphs that derivatives and expansions multiply.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ondine::graph {

struct Graph;

// While it exists, no graph that a Builder of this thread appends to gets more than `nodes` nodes.
// Scopes nest; the innermost counts.
class NodeLimit {
 public:
  explicit NodeLimit(std::size_t nodes) noexcept;
  ~NodeLimit();
  NodeLimit(const NodeLimit&) = delete;
  NodeLimit& operator=(const NodeLimit&) = delete;

 private:
  std::size_t previous_;
};

// Throws Error(limit) when `more` nodes would exceed the limit. Builder::append calls it; what adds
// many nodes calls it before it allocates anything for them.
void require_room(const Graph& graph, std::uint64_t more = 1);

}  // namespace ondine::graph
