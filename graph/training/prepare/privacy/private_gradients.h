// Gradients for training with privacy: clipped for each example, summed, with noise.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/values.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Types of the values of a model's main graph.
using TypesOf = std::function<ValueTypes(const ModelDef&)>;

// Throws Error(mismatch) for settings out of range, and Error(unsupported) for options with which
// the gradients of single examples are not bounded.
void check_privacy(const PrepareOptions& options);

// Appends to the algorithm, whose loss reads `values`, the gradients of DP-SGD (Abadi et al. 2016)
// by the trained parameters: of the sum of the losses of the rows that count, each row's clipped to
// options.privacy->clip, plus noise, over the expected batch size. Nodes of the forward pass are
// copied into the algorithm, where zeros are added to results of nodes with parameters: derivatives
// by these zeros are those by the results. The outputs loss and accuracy become means over the rows
// that count. Throws Error(unsupported) naming the first node that mixes rows, and parameters by
// which the norm of a row's gradient cannot be formed.
struct PrivateGradients {
  std::vector<std::string> gradients;
  std::vector<std::string> noise;  // that is added to them
};
PrivateGradients write_private_gradients(GraphWriter& writer, const ModelDef& model,
                                         const LossValues& loss,
                                         const std::vector<std::string>& values,
                                         const std::vector<const InitializerDef*>& trained,
                                         const PrepareOptions& options, const TypesOf& types_of);

}  // namespace ondine::graph
