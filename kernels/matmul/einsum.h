// Equations of Einsum and their evaluation.
#pragma once

#include <string>
#include <vector>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

// The dims of one operand: letters, and '.' once for the dims that `...` stands for.
using EinsumTerm = std::string;

struct EinsumEquation {
  std::vector<EinsumTerm> operands;
  EinsumTerm output;
};

// Error(invalid_model) unless `text` is an equation over `operands` operands. With `free` the
// output must be explicit and may repeat letters or have letters that are in no operand.
EinsumEquation parse_einsum(std::string_view text, std::size_t operands, bool free);
std::string to_string(const EinsumTerm& term);  // in an equation's spelling

// The output's dims; rejects operands whose ranks or dims do not fit.
std::optional<graph::Dims> einsum_dims(const EinsumEquation& equation,
                                       std::span<const std::optional<graph::Dims>> operands);

// Operands are the inputs from `first` on.
graph::Kernel bind_einsum(graph::BindContext& context, const EinsumEquation& equation,
                          std::size_t first);

// A product of many terms as loops: label i runs over sizes[i]; operand k moves by strides[k][i].
// The last one is the output, whose elements are set to 0 first.
struct EinsumLoops {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> strides;
};

}  // namespace ondine::kernels
