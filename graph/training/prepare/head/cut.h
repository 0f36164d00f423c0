// Where a model is cut for a new head.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct Cut {
  std::string value;
  DType dtype = DType::undefined;
  std::optional<std::vector<DimDef>> dims;
  bool is_convolution = false;  // channels are axis 1, else features are the last axis
  bool pools = false;           // scores are averaged over spatial positions
  std::int64_t width = 0;       // channels or features
};

// The value that the new head reads: options.head's cut, or by default the data input of the last
// layer with parameters before the output. Throws Error(mismatch) if no head can read it.
Cut find_cut(const GraphDef& main, const PrepareOptions& options, const ValueTypes& types);

// `value` and all values computed from it.
Strings values_after(const GraphDef& graph, const std::string& value);

}  // namespace ondine::graph
