// Matrices of adapters, computed in double.
#pragma once

#include <vector>

#include <ondine/tensor.h>

#include "graph/training/adapters/record.h"

namespace ondine::graph {

// Whether the shapes are those of the adapter's form and of each other.
bool fit(const Adapter& adapter, const Shape& weight, const Shape& a, const Shape& b);
// merged_scale a b in the order of the weight's elements.
std::vector<double> low_rank_product(const Adapter& adapter, const Tensor& a, const Tensor& b);
// For each output the length of the vector that multiplies its inputs.
std::vector<double> output_lengths(const std::vector<double>& weight, const Shape& shape,
                                   bool transposed);
// The output to which element i of the weight belongs, and the input channel.
std::size_t output_of(std::size_t i, const Shape& shape, bool transposed);
std::size_t channel_of(std::size_t i, const Shape& shape, bool transposed);

}  // namespace ondine::graph
