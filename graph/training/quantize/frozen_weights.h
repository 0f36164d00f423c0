// Storing frozen weights in few bits.
#pragma once

#include <optional>
#include <string>

#include <ondine/prepare.h>

#include "graph/ir/document.h"

namespace ondine::graph {

// Throws Error(mismatch) for a format that PrepareOptions::quantize_frozen does not have and
// Error(unsupported) naming the version of ai.onnx that it needs when `opset` is older.
void check_frozen_format(const FrozenFormat& format, std::int64_t opset);

// Raises the model's import of ai.onnx to the one that `format` needs (raise_opset.h), and says so;
// nullopt where the import suffices. Throws Error(unsupported) naming the node that hinders it.
std::optional<std::string> raise_for_frozen(ModelDef& model, const FrozenFormat& format);

// Writes the frozen matrices of the main graph in `format`, as PrepareOptions::quantize_frozen
// says: the initializer W becomes "W.quantized" and "W.scale", and nodes in front compute W. What
// is trained, an input or an output of the graph, not finite or small stays. The matrices that were
// rewritten, in the order of the initializers.
std::vector<QuantizedWeight> quantize_frozen(ModelDef& model,
                                             const std::vector<std::string>& trained,
                                             const FrozenFormat& format);

}  // namespace ondine::graph
