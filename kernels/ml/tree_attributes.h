// Trees from the parallel attributes of TreeEnsembleClassifier and TreeEnsembleRegressor.
#pragma once

#include <string>

#include "graph/contract/node_view.h"
#include "kernels/ml/trees.h"

namespace ondine::kernels {

// `votes` is the prefix of the leaves' attributes and `ids` the attribute that says what they vote
// for: "class" and "class_ids", "target" and "target_ids". Not yet checked; a leaf's votes that
// name an inner node are ignored, as runtimes do.
Trees trees_of_arrays(const graph::NodeView& node, const std::string& votes, const std::string& ids,
                      std::size_t targets);

}  // namespace ondine::kernels
