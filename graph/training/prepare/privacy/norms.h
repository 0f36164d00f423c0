// Squared norms of the derivatives of single rows by the parameters that a node reads.
#pragma once

#include <string>

#include "graph/training/prepare/privacy/batch_values.h"
#include "graph/training/prepare/privacy/rows.h"

namespace ondine::graph {

// A node that reads trained parameters and rows.
struct ParameterUse {
  NodeDef original;   // as `tracker` knows it
  NodeDef placed;     // as the step runs it
  std::string probe;  // zeros that are added to its result
  std::string delta;  // the derivative of the sum of the rows' losses by its result
};

// [rows]. For input `index` of the use, a parameter or one whose elements were moved. Exact; of the
// two ways to compute the norm of a product, derivatives of single rows or the products of all
// pairs of a row's positions (Gram matrices), the one that stores less. Throws Error(unsupported)
// naming parameter and operator where the norm cannot be formed.
std::string write_squared_norm(const BatchValues& batch, const RowTracker& tracker,
                               const ParameterUse& use, std::size_t index);

}  // namespace ondine::graph
