// Where the batch is in what a loss reads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"

namespace ondine::graph {

// Looks for the batch, which inputs have as their first dim and which CTC knows by its name too,
// among the dims of `what` ("output 'y'"). Returns "" where it is the first, or nothing tells; else
// a remark for people. Throws Error(mismatch) where it is not the first and the loss needs it
// there.
std::string check_batch_axis(const GraphDef& main, const std::string& what,
                             const std::vector<DimDef>& dims, Loss loss);

// The axis of `dims` that has the name which all inputs give their first; empty where it is axis 0
// or that may be the batch, being unknown or 1, or nothing tells.
std::optional<std::size_t> batch_axis(const GraphDef& main, const std::vector<DimDef>& dims);

}  // namespace ondine::graph
