// What the loss of a prepared model reads.
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
  std::string value;  // in the graph that the loss is computed from
  // Of what the loss reads in the end, after `moves` and with the classes as axis 1.
  DType dtype = DType::undefined;
  std::optional<std::vector<DimDef>> dims;
  std::vector<NodeDef> moves;  // from `value` to the shape of the output that was asked for
  std::size_t class_axis = 1;  // after `moves`
  bool is_log = false;         // nll: logarithms of probabilities
  std::string reason;          // why this value, for messages
};

// Where the loss looks: options.output, a value of the main graph, or with the only or first
// floating point output (the probabilities that a ZipMap reads for it). Losses on logits read those
// of a Softmax or Sigmoid that makes it (prepare_logits.h), which may add an output to an If of
// `main`. Throws Error(mismatch) for an unknown value, one that is no floating point tensor, and
// probabilities without logits for a loss on logits. `class_axis` is that of logits that no Softmax
// reads.
Prediction find_prediction(GraphDef& main, Names& names, std::int64_t opset,
                           const ValueTypes& types, const PrepareOptions& options,
                           std::size_t class_axis = 1);

// Repeats prediction.moves and makes the classes axis 1; prediction.value is then what the loss
// reads.
void write_moves(GraphWriter& writer, Prediction& prediction);

}  // namespace ondine::graph
