// The loss of a prepared model.
#pragma once

#include <ondine/prepare.h>

#include "graph/training/prepare_writer.h"

namespace ondine::graph {

// What the loss reads.
struct Prediction {
  std::string value;  // in the graph that the loss is computed from
  DType dtype = DType::undefined;
  std::optional<std::vector<DimDef>> dims;
};

// Where the loss looks: options.output, or with the only or first output; the input of a final
// Softmax or Sigmoid when the loss contains it. Throws Error(mismatch) for an unknown output or one
// that is no floating point tensor.
Prediction find_prediction(const GraphDef& main, std::int64_t opset, const PrepareOptions& options);

struct LossValues {
  std::string loss;      // rank 0
  std::string accuracy;  // "" when there is none
};

// Appends the label input, the loss and the accuracy (which become outputs).
LossValues write_loss(GraphWriter& writer, const Prediction& prediction,
                      const PrepareOptions& options);

}  // namespace ondine::graph
