// The types of a call's inputs from shapes alone.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/function.h"

namespace ondine::trainer {

// The types of all inputs, every dim known: from `shapes` (by name of the input), else from the
// state and defaults, else as declared, symbolic dims as far as another input fixes them. Throws
// Error(mismatch) that names the input and the dim where one stays dynamic, where a shape does not
// fit, or an input is unknown, and Error(unsupported) for inputs that are no tensors.
std::vector<graph::Type> input_types(const Function& function, const StateStore& state,
                                     std::span<const std::pair<std::string, Shape>> shapes);

}  // namespace ondine::trainer
