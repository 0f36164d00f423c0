// Facts about the prediction that prepare writes into the data record.
#pragma once

#include <string>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/losses/chosen_loss.h"

namespace ondine::graph {

// Which output was trained, with what loss, and what it holds. Facts about data that the model was
// trained with before stay; those of its former loss go.
void record_prediction(ModelDef& model, const LossInputs& inputs, const PrepareOptions& options);

}  // namespace ondine::graph
