// A loss given as a model: a function of the training model that reads values of the main graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

// The metadata entry of a loss model all of whose inputs are values of the main graph.
inline constexpr const char* no_labels = "ondine.no_labels";

struct MatchedLoss {
  std::vector<std::string> reads;  // inputs with names of values of the main graph
  std::vector<bool> casts;         // those of them that are float32, their values of low precision
  std::vector<ValueDef> labels;    // the others
  DType dtype = DType::undefined;  // of the loss
  std::string reason;              // what it reads, for messages
};

// Throws Error(mismatch) for a loss model with training information, with another number of outputs
// than one, with an output that is no floating point number of rank 0, with an input whose type is
// not that of the value of its name (but for casts), without an input that reads a floating
// point value, or with a label where it has `no_labels`.
MatchedLoss match_loss_model(const ModelDef& loss, const GraphDef& main, const ValueTypes& types);

// Adds the loss to `model` as function "loss" of domain "ondine.loss" with its own operator sets,
// the functions that it calls, and a call of it to the writer's graph. `values` are the training
// copies of matched.reads. Throws Error(mismatch) for a label with the name of a value, and for
// functions of one name in both models.
LossValues write_loss_model(GraphWriter& writer, ModelDef& model, const ModelDef& loss,
                            const MatchedLoss& matched, const std::vector<std::string>& values);

}  // namespace ondine::graph
