// Prediction: the value that the loss of a prepared model reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/values.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

struct Prediction {
  std::string value;  // in the main graph
  // Type and dims of the loss's input: after `moves`, with the classes on axis 1.
  DType dtype = DType::undefined;
  std::optional<std::vector<DimDef>> dims;
  std::vector<NodeDef> moves;  // from `value` to the shape of the requested output
  std::size_t class_axis = 1;  // after `moves`
  std::string asked;           // the output or value whose shape and class axis those are
  bool is_log = false;         // nll reads log-probabilities
  std::string reason;          // why this value was chosen, for messages
};

// Finds the loss's input: options.output (any value of the main graph), or else the only or first
// floating-point output (for a ZipMap, the probabilities that it reads). Losses on logits read the
// logits behind a Softmax or Sigmoid (logits.h), for which nodes of `model` may change.
// `class_axis` applies to logits that no Softmax reads. Throws Error(mismatch) for an unknown
// value, a value that is not a floating-point tensor, and probabilities without logits if the loss
// needs logits.
Prediction find_prediction(ModelDef& model, Names& names, const ValueTypes& types,
                           const PrepareOptions& options, std::size_t class_axis = 1);

// The value that find_prediction() starts from: every value that the loss reads is it or leads to
// it.
std::string asked_value(const GraphDef& graph, const ValueTypes& types, const std::string& output);

// Appends prediction.moves and moves the classes to axis 1; prediction.value is then the loss's
// input.
void write_moves(GraphWriter& writer, Prediction& prediction);
// Moves the classes of a value to axis 1 from where the model has them.
std::string move_classes(GraphWriter& writer, const Prediction& prediction,
                         const std::string& value);

}  // namespace ondine::graph
