// Which initializers a prepared model trains.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"

namespace ondine::graph {

// '*' stands for any text, '?' for one character.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

// The node that makes each value of a graph.
using Producers = std::map<std::string, const NodeDef*, std::less<>>;
Producers producers_of(const GraphDef& graph);
const InitializerDef* find_initializer(const GraphDef& graph, std::string_view name) noexcept;

// Gives every Identity of an initializer an initializer of its own, named as its output. PyTorch's
// exporter writes parameters that are equal at the time of export as such Identities.
void untie_parameters(GraphDef& graph);

struct ParameterChoice {
  std::vector<const InitializerDef*> trained;  // in the order of the initializers
  std::vector<const InitializerDef*> frozen;   // could be trained, but for the options

  std::vector<const InitializerDef*> constants;  // those of `frozen` that no option keeps

  std::vector<ParameterInfo> table;  // every floating point initializer

  bool trains(std::string_view name) const noexcept;
  // Whether an option keeps it from being trained.
  bool freezes(std::string_view name) const noexcept;
};

// Parameters are the floating point initializers through which a derivative of `output` flows: no
// running statistics, no bounds of Clip. Frozen unless a pattern of `train` names them are:
//   - tensors with infinities, NaN or huge elements, and other masks (unfit_values);
//   - what the exporter's metadata calls no parameter (prepare_origin.h); what it calls one is one;
//   - what plays the part of a constant (weight_values), and what its values or its name show to be
//     one (constant_reason);
//   - rank 0, unless the exporter calls it a parameter (is_parameter_name).
// Patterns with wildcards name parameters, and constants only where they match no parameter.
// Throws Error(mismatch) for a pattern that matches nothing that a derivative reaches and when
// nothing is left to train.
ParameterChoice choose_parameters(const GraphDef& graph, const std::string& output,
                                  const PrepareOptions& options, std::string_view producer = {});

}  // namespace ondine::graph
