// Determines the types of a call's inputs from shapes, without values.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/model/function.h"

namespace ondine::trainer {

// The types of all inputs with every dim known: from `shapes` (by name of the input), else from
// state and defaults, else as declared, with symbolic dims as other inputs determine them. Throws
// Error(mismatch), naming input and dim, for a dim that stays dynamic, a shape that does not match
// and an unknown input; Error(unsupported) for inputs that are not tensors.
std::vector<graph::Type> input_types(const Function& function, const StateStore& state,
                                     std::span<const std::pair<std::string, Shape>> shapes);

}  // namespace ondine::trainer
