// Which initializers a prepared model trains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/paths.h"

namespace ondine::graph {

// '*' stands for any text, '?' for one character.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

const InitializerDef* find_initializer(const GraphDef& graph, std::string_view name) noexcept;

// Gives every Identity of an initializer an initializer of its own, named as its output. PyTorch's
// exporter writes parameters that are equal at the time of export as such Identities.
void untie_parameters(GraphDef& graph);

struct ParameterChoice {
  std::vector<const InitializerDef*> trained;  // in the order of the initializers
  std::vector<const InitializerDef*> frozen;   // could be trained, but are excluded or constant

  std::vector<const InitializerDef*> constants;  // those of `frozen` that no option excludes

  std::vector<ParameterInfo> table;  // every floating point initializer

  bool trains(std::string_view name) const noexcept;
  // Whether an option excludes it from training.
  bool freezes(std::string_view name) const noexcept;
};

// Parameters are the floating point initializers through which a derivative of `outputs` flows: no
// running statistics, no bounds of Clip. Frozen unless a pattern of `train` names them are:
//   - tensors with infinities, NaN or huge elements, and other masks (unfit_values);
//   - tensors that the exporter's metadata does not call parameters (origin.h); those that it does
//     are parameters;
//   - values used as constants (weight_values) or recognizable as such by their elements or their
//     name (constant_reason);
//   - rank 0, unless the exporter calls it a parameter (is_parameter_name).
// Patterns with wildcards select parameters, and constants only if they match no parameter. Throws
// Error(mismatch) for a pattern that matches nothing that a derivative reaches, and if nothing is
// left to train.
ParameterChoice choose_parameters(const GraphDef& graph, const Strings& outputs,
                                  const PrepareOptions& options, std::string_view producer = {});

}  // namespace ondine::graph
