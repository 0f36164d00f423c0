#include "graph/resolve/resolve.h"

#include "graph/resolve/resolver.h"

namespace ondine::graph {

Graph resolve(const GraphDef& graph, const ResolveContext& context) {
  const GraphDef* const part = &graph;
  return resolve({&part, 1}, context);
}

Graph resolve(GraphParts parts, const ResolveContext& context) {
  return Resolver(context).resolve(parts);
}

}  // namespace ondine::graph
