// Which axis of a prediction holds the classes.
#pragma once

#include <cstddef>
#include <optional>

#include "graph/ir/document.h"
#include "graph/training/prepare/prediction/logits.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

// The axis of the classes, followed from the Softmax through what moves its result: counted from 0
// in the shape after all moves; nullopt if unknown. `last_rank` is the rank after the moves, used
// where the types do not tell that of the logits.
std::optional<std::size_t> find_class_axis(const GraphDef& graph, const ValueTypes& types,
                                           const Logits& logits,
                                           std::optional<std::size_t> last_rank);

}  // namespace ondine::graph
