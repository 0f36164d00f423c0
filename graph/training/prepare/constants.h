// Recognizes constants that are not parameters by their values, names and readers.
#pragma once

#include <string>
#include <string_view>

#include <ondine/tensor.h>

#include "graph/training/prepare/paths.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {

// Why a floating-point tensor must not be trained whatever its name is, or "". Training an infinity
// gives NaN: the product of a zero derivative and an infinity.
std::string unfit_values(const Tensor& tensor);

// Why a floating-point constant is not a parameter, or "": masks, positions and grids of positions,
// anchors, and tables of sines or frequencies.
std::string constant_reason(std::string_view name, const Tensor& tensor, const Uses& uses);

// What PyTorch's exporter leaves of a normalization whose statistics and parameters are fixed:
// factors and terms of the channels under made-up names, after a convolution without bias, or under
// their own names the parameters that are computed with statistics of the same module alone.
Strings fixed_normalizations(const GraphDef& graph);

// Whether the initializer was a Constant node of PyTorch's exporter: one that lift_weights() made,
// or one under the name of such a node ("/layer/Constant_3_output_0"). Where the file has other
// initializers under the names of parameters, every parameter is one, and Constant nodes hold other
// tensors.
bool is_traced_constant(const InitializerDef& one) noexcept;
bool names_its_parameters(const GraphDef& graph);

// What is assumed of an initializer that is trained, or "": that frequencies of Sin and Cos are
// learned, and, unless it is `known` to come from a parameter, that a term or factor under a name
// that the exporter made up does.
std::string assumption(std::string_view name, bool known, const Uses& uses);

// Whether the name of a single-element tensor is one that exporters give to parameters only.
bool is_parameter_name(std::string_view name, std::string_view producer) noexcept;

}  // namespace ondine::graph
