// Constants that are no parameters, told by their values, their names and what reads them.
#pragma once

#include <string>
#include <string_view>

#include <ondine/tensor.h>

#include "graph/training/prepare/uses.h"

namespace ondine::graph {

// Why a floating point tensor is not to be trained whatever it is called; "" when it may be. A
// product of a zero derivative and an infinity is NaN.
std::string unfit_values(const Tensor& tensor);

// Why a floating point constant is no parameter; "" when it may be one. Masks, positions and grids
// of them, anchors, and tables of sines and frequencies are such constants.
std::string constant_reason(std::string_view name, const Tensor& tensor, const Uses& uses);

// Whether an exporter calls a tensor of one element a parameter, by a name that only attributes of
// modules and variables have.
bool is_parameter_name(std::string_view name, std::string_view producer) noexcept;

}  // namespace ondine::graph
