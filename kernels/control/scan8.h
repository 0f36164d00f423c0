// Version 8 of Scan: batched, with lengths.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"

namespace ondine::kernels::ops {

void infer_scan8(graph::InferContext& context);
std::vector<graph::Val> expand_scan8(graph::ExpandContext& context);

}  // namespace ondine::kernels::ops
