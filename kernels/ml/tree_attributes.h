// Trees from the parallel attributes of TreeEnsembleClassifier and TreeEnsembleRegressor.
#pragma once

#include <string>

#include "graph/contract/node_view.h"
#include "kernels/ml/trees.h"

namespace ondine::kernels {

// `votes` is the prefix of the leaf attributes and `ids` the attribute of the classes or targets
// that leaves vote for: "class" and "class_ids", or "target" and "target_ids". The result is not
// yet checked. Votes that name an inner node are ignored.
Trees trees_of_arrays(const graph::NodeView& node, const std::string& votes, const std::string& ids,
                      std::size_t targets);

}  // namespace ondine::kernels
