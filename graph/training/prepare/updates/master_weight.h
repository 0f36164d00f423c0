// Parameters of low precision, which are updated in float32.
#pragma once

#include <map>
#include <string>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// In which a parameter is updated: float32 for low precision, otherwise its own type.
DType updated_type(const InitializerDef& parameter) noexcept;

// The float32 state of each parameter of low precision, by the parameter's name.
using Masters = std::map<std::string, std::string, std::less<>>;

struct MasterWeight {
  std::string name;     // the state, an initializer with the parameter's elements
  Tensor value;         // of the initializer
  std::string current;  // what a step starts from
};

// Appends the state "<parameter>.master". A step starts from it, but where the parameter is not
// what it rounds to, because something else than a step has set it, from the parameter.
MasterWeight write_master(GraphWriter& writer, const InitializerDef& parameter);

}  // namespace ondine::graph
