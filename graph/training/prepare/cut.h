// Where a model is cut for a new head.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/paths.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct Cut {
  std::string value;
  DType dtype = DType::undefined;
  std::optional<std::vector<DimDef>> dims;
  bool is_convolution = false;  // channels are axis 1, else features are the last axis
  bool pools = false;           // spatial positions are averaged into one score for each class
  std::int64_t width = 0;       // channels or features
};

// The value that a head of `options` reads: the one that is named, or the data of the last layer
// with parameters on the way to the output. Throws Error(mismatch) where no head can read one.
Cut find_cut(const GraphDef& main, const PrepareOptions& options, const ValueTypes& types);

// Values that are computed from `value`, itself included.
Strings values_after(const GraphDef& graph, const std::string& value);

}  // namespace ondine::graph
