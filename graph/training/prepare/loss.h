// The loss of a prepared model.
#pragma once

#include <ondine/prepare.h>

#include "graph/training/prepare/prediction/prediction.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

struct LossValues {
  std::string loss;                // rank 0
  std::string accuracy;            // "" when there is none
  DType dtype = DType::undefined;  // of the loss
  // Divisors of the two means: the number of labels, or the sum of their weights, of rank 0 and of
  // the loss's type and float32; "": the rows of the batch.
  std::string loss_weight = {};
  std::string accuracy_weight = {};
};

// Appends the label input, the loss and the accuracy (which become outputs). The prediction is
// float32 or float64.
LossValues write_loss(GraphWriter& writer, const Prediction& prediction,
                      const PrepareOptions& options);

}  // namespace ondine::graph
