// Inlining of a subgraph.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels {

// Appends the nodes of `body`, its formal inputs being `formals`, and returns its outputs.
std::vector<graph::Val> inline_subgraph(graph::Builder& builder, const graph::Subgraph& body,
                                        std::span<const graph::Val> formals);

}  // namespace ondine::kernels
