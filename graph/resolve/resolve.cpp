#include "graph/resolve/resolve.h"

#include "graph/resolve/resolver.h"

namespace ondine::graph {

Graph resolve(const GraphDef& graph, const ResolveContext& context) {
  return Resolver(context).resolve(graph);
}

}  // namespace ondine::graph
