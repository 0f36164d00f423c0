// Linear models of ai.onnx.ml, which keep their coefficients in attributes.
#pragma once

#include "graph/training/prepare/names.h"

namespace ondine::graph {

// Replaces each LinearRegressor and LinearClassifier of the main graph by Gemm and what follows it,
// so that the coefficients are initializers, which can be trained. Those stay that have a
// post_transform of SOFTMAX_ZERO or PROBIT, or one row of coefficients for two classes.
void expand_linear_models(GraphDef& graph, Names& names);

}  // namespace ondine::graph
