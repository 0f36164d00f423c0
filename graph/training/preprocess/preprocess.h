// Writes the preprocessing of raw inputs into a main graph.
#pragma once

#include <ondine/preprocess.h>

#include "graph/ir/document.h"

namespace ondine::graph {

// Puts the operators in front of the input, by nodes that are valid for the model's own version of
// ai.onnx, and describes them in the data record. Throws
// Error(mismatch) for an input that is not there or not of floating point numbers, numbers that do
// not fit its channels, and a size that the model does not take; Error(unsupported) for a version
// of ai.onnx without the operators. The model is unspecified then.
void write_preprocess(ModelDef& model, const Preprocess& options);

}  // namespace ondine::graph
