// Control flow: If, Loop, Scan, SequenceMap. If and Loop run their subgraphs; Scan and SequenceMap
// are expanded into Loop, from which their derivatives follow.
//   loop_body.h   an operator's subgraph as the body of a Loop
//   scan8.h       version 8 of Scan, with a batch axis and lengths
// This header: the derivative of Loop, back-propagation through time, and its expansion.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels::ops {

std::vector<graph::Val> loop_gradient(graph::GradContext& g);
// A Loop of the standard. Error(unsupported) where an element to collect is no tensor.
std::vector<graph::Val> expand_loop(graph::ExpandContext& context);

}  // namespace ondine::kernels::ops
