// Parameters that an exporter wrote more than once.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// PyTorch's exporters fold the transposition of weights into new initializers, of which a tied
// parameter, or one of a layer that runs twice, gets several. Replaces the later ones of these by
// a Transpose or an Identity of the first, so that they train as one. A copy is told by the
// parameter that the metadata names, or by a generated name and elements that are those of a named
// parameter of rank 2 transposed. Returns a note on what was tied, or nothing.
std::vector<std::string> tie_copies(GraphDef& graph);

}  // namespace ondine::graph
