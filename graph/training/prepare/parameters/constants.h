// Recognizes constants that are not parameters by their values, names and readers.
#pragma once

#include <string>
#include <string_view>

#include <ondine/tensor.h>

#include "graph/training/prepare/parameters/operands.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {

// Why a floating-point tensor must not be trained whatever its name is, or "". Training an infinity
// gives NaN: the product of a zero derivative and an infinity. Finite elements of parameters of
// layers may have any size.
std::string unfit_values(const Tensor& tensor, LayerUse use = LayerUse::none);
// Whether the elements are infinities and at most one finite number.
bool is_mask_of_infinities(const Tensor& tensor);

// Why a floating-point constant is taken for no parameter by its elements or its name, or "":
// masks, positions and grids of positions, anchors, and tables of sines or frequencies. For
// parameters of layers only tables of sines and angles and some names count.
std::string constant_reason(std::string_view name, const Tensor& tensor, const DocumentUses& uses,
                            LayerUse use = LayerUse::none);

// Whether the tensor is a geometric series of which nodes make angles for Sin and Cos.
bool is_frequencies(std::string_view name, const Tensor& tensor, const DocumentUses& uses);

// Whether the initializer was a Constant node of PyTorch's exporter: one that lift_weights() made,
// or one under the name of such a node ("/layer/Constant_3_output_0"). Where the file has other
// initializers under the names of parameters, every parameter is one, and Constant nodes hold other
// tensors.
bool is_traced_constant(const InitializerDef& one) noexcept;
bool names_its_parameters(const GraphDef& graph);

// Assumption about an initializer that is trained, or "": that frequencies of Sin and Cos are
// learned, and, unless it is `known` to come from a parameter, that a term or factor under a name
// that the exporter made up is learned.
std::string assumption(std::string_view name, bool known, const DocumentUses& uses);

// Whether the name of a single-element tensor is one that exporters give to parameters only.
bool is_parameter_name(std::string_view name, std::string_view producer) noexcept;

}  // namespace ondine::graph
