// Reads exporter metadata on the origin of initializers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {

// From the metadata of value_info or initializers that PyTorch's exporter (dynamo=True) writes:
// parameters; and buffers, constants, tensors folded from constants alone, and tensors that do not
// require a gradient; and what was folded from parameters among others. All are empty for other
// files.
struct Origins {
  Strings parameters;
  Strings constants;
  Strings derived;
};
Origins origins_of(const GraphDef& graph);

// Values from which the exporter's optimizer computed the initializer, modules' parameters under
// the names that they have there ("fc.weight"); empty if it did not, or if the file does not say
// so.
std::vector<std::string> folded_from(const Properties& metadata);

// Whether a name in PyTorch is that of a mean or variance that a normalization keeps.
bool is_statistic(std::string_view name) noexcept;
// The module of a parameter or buffer; "" without one.
std::string_view owner_of(std::string_view name) noexcept;

// Names that an exporter makes up: "onnx::MatMul_12", "val_7", "/fc/Transpose_output_0", "12".
bool is_generated_name(std::string_view name) noexcept;
// Whether exporters give the name to numbers of a program: generated ones, "const_fold_opt__12",
// "truediv/y:0", "Mu_Mulcst".
bool is_number_name(std::string_view name) noexcept;

}  // namespace ondine::graph
