// Roles of trained parameters for an optimizer, by their place in the network.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {

struct ParameterRoles {
  // The factor of the optimizer's weight decay; 1 for parameters that are not here.
  std::map<std::string, float, std::less<>> decay;
  Strings hidden;            // matrices and convolutions that Muon makes orthogonal steps of
  std::string decay_note;    // for people; empty without weight decay
  std::string decay_reason;  // why vectors do not decay where nobody asked for it
  std::string rules_note;    // for people; empty where all parameters follow one rule
};

// `read`: the values of the main graph that the loss reads. Error(mismatch) for a pattern of
// decay_groups that matches no trained parameter, settings of weight decay without one, and Muon
// without a hidden matrix.
ParameterRoles choose_roles(const ModelDef& model,
                            const std::vector<const InitializerDef*>& trained,
                            const std::vector<std::string>& read, const PrepareOptions& options);

// The elements that share a scale of AdamW8; 0 where the moments stay as they are, which are those
// of few elements and of numbers without a fitting divisor.
std::int64_t block_size(const Shape& shape);

}  // namespace ondine::graph
