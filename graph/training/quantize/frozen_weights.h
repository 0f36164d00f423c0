// Storing frozen weights in few bits.
#pragma once

#include <ondine/prepare.h>

#include "graph/ir/document.h"

namespace ondine::graph {

// Throws Error(mismatch) for a format that PrepareOptions::quantize_frozen does not have and
// Error(unsupported) naming the version of ai.onnx that it needs when `opset` is older.
void check_frozen_format(const FrozenFormat& format, std::int64_t opset);

// Writes the frozen matrices of the main graph in `format`, as PrepareOptions::quantize_frozen
// says: the initializer W becomes "W.quantized" and "W.scale", and nodes in front compute W. What
// is trained, an input or an output of the graph, not finite or small stays. The matrices that were
// rewritten, in the order of the initializers.
std::vector<QuantizedWeight> quantize_frozen(ModelDef& model,
                                             const std::vector<std::string>& trained,
                                             const FrozenFormat& format);

}  // namespace ondine::graph
