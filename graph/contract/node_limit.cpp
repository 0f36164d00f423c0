#include "graph/contract/node_limit.h"

#include <limits>

#include "core/message.h"
#include "graph/ir/graph.h"

namespace ondine::graph {
namespace {

thread_local std::size_t limit = std::numeric_limits<std::size_t>::max();

}  // namespace

NodeLimit::NodeLimit(std::size_t nodes) noexcept : previous_(limit) { limit = nodes; }
NodeLimit::~NodeLimit() { limit = previous_; }

void require_room(const Graph& graph, std::uint64_t more) {
  if (graph.nodes.size() <= limit && more <= limit - graph.nodes.size()) return;
  fail(ErrorCode::limit,
       "with derivatives and unrolled steps the graph has more than the limit of ", limit,
       " nodes");
}

}  // namespace ondine::graph
