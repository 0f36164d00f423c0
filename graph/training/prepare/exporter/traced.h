// Parameters that PyTorch's TorchScript exporter (dynamo=False) merged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Treatment of parameters that an exporter wrote once.
enum class Separation : std::uint8_t {
  none,    // they train as one; running statistics are separate all the same
  merged,  // parameters that were merged because they were equal are separate
  all,     // parameters that may be one tensor are separate, too
};

// The exporter writes tensors of equal values once, and an Identity for each other one, under its
// name. Gives them initializers of their own again. What tells merged parameters from tied ones:
//   - elements that are all equal are initial zeros and ones;
//   - parameters of modules of a list, "layers.0.fc.weight" and "layers.1.fc.weight", are copies;
//   - other equal elements, as of an embedding and the layer that gives its scores, are tied.
// Where another program removed the Identity nodes, constant elements that a module reads of
// another one are separate. Returns notes on what is separate and on what trains as one.
std::vector<std::string> separate_traced(ModelDef& model, Separation separation);

// Whether the node is such an Identity: it stands in no module.
bool is_merged_identity(const NodeDef& node);

}  // namespace ondine::graph
