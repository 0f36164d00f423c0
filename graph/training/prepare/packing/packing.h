// Several texts in one row: attention that stays within each of them.
#pragma once

#include <string>
#include <vector>

#include "graph/training/prepare/renaming.h"
#include "graph/training/prepare/values.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

inline constexpr const char* segments_name = "segment_ids";

// A network whose rows hold several texts, told apart by segment_ids, int64 [N, T].
struct PackedNetwork {
  ModelDef model;  // its main graph reads values that `nodes` make
  std::vector<NodeDef> nodes;
  std::vector<InitializerDef> constants;
  Renaming values;       // those values, each by its own name
  ValueDef segments;     // the input that `nodes` read
  std::string tokens;    // the input whose ids are looked up in a table ...
  std::int64_t ids = 0;  // ... of so many rows
};

// The main graph of `model` with attention from each token to those of its own segment alone, and
// with positions that begin at 0 in each segment where they are looked up in a table. Recognized
// are Softmax over the last axis of scores with a product behind it, and Attention of ai.onnx;
// positions from a Range, from a sum over a mask, constants, and the input "position_ids".
// Distances, as in rotary positions and windows, stay as they are. Throws Error(unsupported) naming
// the node with another attention, or what was not found, and for models before ai.onnx 13.
PackedNetwork pack_network(const ModelDef& model, const ValueTypes& types, Names& names);

// Writes into the writer's graph what the packed network reads, and segment_ids as an input;
// `instead` receives the values and the ids, so that copies of the network's nodes read them.
// Error(mismatch) where the model has a value of that name.
PackedNetwork write_packed(GraphWriter& writer, const ModelDef& model, const ValueTypes& types,
                           Renaming& instead);

}  // namespace ondine::graph
