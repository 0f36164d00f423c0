// Conversion of declared types.
#pragma once

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// The declared type. Symbolic dims are looked up in `symbols`, or become dynamic when it is null.
Type to_type(const TypeDef& def, Symbols* symbols);

// `type` without its shapes.
Type without_dims(const Type& type);

}  // namespace ondine::graph
