// Recognizes constants that are not parameters by their values, names and readers.
#pragma once

#include <string>
#include <string_view>

#include <ondine/tensor.h>

#include "graph/training/prepare/uses.h"

namespace ondine::graph {

// Why a floating-point tensor must not be trained whatever its name is, or "". Training an infinity
// gives NaN: the product of a zero derivative and an infinity.
std::string unfit_values(const Tensor& tensor);

// Why a floating-point constant is not a parameter, or "": masks, positions and grids of positions,
// anchors, and tables of sines or frequencies.
std::string constant_reason(std::string_view name, const Tensor& tensor, const Uses& uses);

// Whether the name of a single-element tensor is one that exporters give to parameters only.
bool is_parameter_name(std::string_view name, std::string_view producer) noexcept;

}  // namespace ondine::graph
