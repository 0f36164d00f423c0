// Replaces the end of a network with a new head.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct PlacedHead {
  std::string cut;     // the value that the head reads
  std::string output;  // the head's result, the first output of the model
  std::string weight;  // drawn by initialization
  std::string bias;
  std::size_t class_axis = 1;
  std::vector<std::string> constants = {};  // initializers of the head that never train
  std::vector<std::string> values = {};     // results of its nodes
};

// Removes the nodes that only outputs after the cut need, and appends the head. Throws
// Error(mismatch), which gives the reason, if no head can be placed; the model is then unchanged.
PlacedHead put_head(ModelDef& model, const PrepareOptions& options, const ValueTypes& types);

}  // namespace ondine::graph
