// Biases of zeros that an exporter left out.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct RestoredBiases {
  std::vector<std::string> names;
  std::vector<std::string> notes;
};

// The optimizer of PyTorch's exporter (dynamo=True) removes biases of zeros from Gemm and
// convolutions. Where the metadata lists a bias of the module whose weight such a layer reads,
// gives the layer one of zeros again, under the name that it had.
RestoredBiases restore_zero_biases(ModelDef& model);

}  // namespace ondine::graph
