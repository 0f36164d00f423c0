// Which initializers a prepared model trains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {

// '*' stands for any text, '?' for one character.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

const InitializerDef* find_initializer(const GraphDef& graph, std::string_view name) noexcept;

struct ParameterChoice {
  std::vector<const InitializerDef*> trained;  // in the order of the initializers
  std::vector<const InitializerDef*> frozen;   // could be trained, but are excluded or constant

  std::vector<ParameterInfo> table;  // every floating point initializer
  // Parameters that are frozen for their elements or names alone, and why.
  std::vector<std::string> guesses;

  Strings trained_names;
  Strings excluded_names;  // parameters that options exclude

  bool trains(std::string_view name) const { return trained_names.contains(name); }
};

// Parameters are the floating point initializers through which a derivative of `outputs` flows: no
// running statistics, no bounds of Clip. Frozen unless a pattern of `train` names them are:
//   - tensors that the exporter's metadata does not call parameters (origin.h); those that it does
//     are parameters;
//   - values used as constants (weight_values);
//   - tensors with infinities, NaN or huge elements, and other masks (unfit_values);
//   - rank 0 and factors of one element, unless an operator reads them as a parameter (operands.h),
//     the exporter calls them parameters (is_parameter_name) or no layer has any (y = w x + b);
//   - those recognizable as constants by their elements or their name (constant_reason).
// Parameters of layers by their operator (operands.h) are not told by their elements, so that a
// model gives the same choice before and after training. Patterns with wildcards select parameters,
// and constants only if they match no parameter. Throws Error(mismatch) for a pattern that matches
// nothing that a derivative reaches, and if nothing is left to train.
ParameterChoice choose_parameters(const GraphDef& graph, const Strings& outputs,
                                  const PrepareOptions& options, std::string_view producer = {});

}  // namespace ondine::graph
