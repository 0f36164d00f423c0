// Bringing a model as written to a newer version of the standard's operator set.
#pragma once

#include <cstdint>

#include "graph/ir/document.h"

namespace ondine::graph {

// Raises the import of ai.onnx to `opset` in the model and in its functions, as far as they import
// an older one, and the IR version to that of `opset`. Every node keeps its meaning: attributes
// that became inputs (axes of reductions, the parts of Split) are written as such. Throws
// Error(unsupported) naming a node whose operator means something else in `opset`, in which case
// `model` is left in an unspecified state. The model imports ai.onnx 13 or newer and has no
// training information; newer imports stay.
void raise_opset(ModelDef& model, std::int64_t opset);

}  // namespace ondine::graph
