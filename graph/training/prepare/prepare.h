// Writing the TrainingInfoProto of an inference model: loss, Gradient, optimizer, initialization.
#pragma once

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/privacy/private_gradients.h"
#include "graph/training/prepare/updates/optimizer.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

// Appends one training_info to `model` and extends its opset imports (and its IR version to at
// least 7). Uses nodes that are valid for the model's own version of ai.onnx; throws
// Error(unsupported) naming that version when it is too old, Error(mismatch) for an output, label
// or pattern that does not fit. Changes nothing when it throws. `types` are those of the values of
// the main graph; without them what the model declares is known. `loss_model` is that of the
// options. `fresh` are parameters that were added before, which initialization draws. `types_of`
// tells the types of models that are made on the way, which options.privacy needs.
PrepareReport prepare(ModelDef& model, const PrepareOptions& options, const ValueTypes& types = {},
                      const ModelDef* loss_model = nullptr, const OptimizerStart& start = {},
                      const std::vector<std::string>& fresh = {}, const TypesOf& types_of = {});

}  // namespace ondine::graph
