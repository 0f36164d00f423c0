// The loss of the options: one of the catalogue, or a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/losses/loss_model.h"
#include "graph/training/prepare/prediction/prediction.h"

namespace ondine::graph {

// Values of the main graph that the loss reads.
struct LossInputs {
  Prediction prediction;
  std::optional<MatchedLoss> matched;  // of a loss model

  std::vector<std::string> values() const {
    return matched ? matched->reads : std::vector<std::string>{prediction.value};
  }
};

// `loss_model` is that of the options, or nullptr; `class_axis` that of a new head.
LossInputs find_loss_inputs(ModelDef& model, Names& names, const ValueTypes& types,
                            const PrepareOptions& options, const ModelDef* loss_model,
                            std::size_t class_axis);

// Appends the loss. `values` are those of `inputs`, or what stands for them in the algorithm.
LossValues write_chosen_loss(GraphWriter& writer, ModelDef& model, const LossInputs& inputs,
                             const std::vector<std::string>& values, const PrepareOptions& options,
                             const ModelDef* loss_model);

// The input that evaluation compares with; "" where there is none.
std::string label_name(const LossInputs& inputs, const PrepareOptions& options);

// Says that the number of classes leaves out the accuracy; empty where it does not.
std::string accuracy_note(const LossInputs& inputs, const PrepareOptions& options);

}  // namespace ondine::graph
