// A new head in the place of what follows a value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct PlacedHead {
  std::string cut;     // what the head reads
  std::string output;  // what it gives: the first output of the model
  std::string weight;  // drawn by initialization
  std::size_t class_axis = 1;
};

// Removes what only the outputs behind the cut need and appends the head. Throws Error(mismatch)
// that says why where none can be put; changes nothing then.
PlacedHead put_head(ModelDef& model, const PrepareOptions& options, const ValueTypes& types);

}  // namespace ondine::graph
