// Parameters that an exporter wrote with repeated elements.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct RepeatedParameters {
  std::vector<std::string> values;  // the initializers that were replaced
  std::vector<std::string> notes;
};

// PyTorch's exporter (dynamo=True) computes at export what does not depend on the inputs: a token
// expanded to the batch, rows of an embedding for fixed indices. Every repetition would train on
// its own. Stores each different slice of such an initializer once, and selects the repetitions by
// a Gather, whose derivative adds them up. Slices whose elements are all equal stay, since zeros
// may be equal by chance.
RepeatedParameters store_repeated_once(ModelDef& model);

}  // namespace ondine::graph
