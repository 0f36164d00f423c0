// Matrices of adapters, computed in double.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ondine/tensor.h>

#include "graph/training/adapters/record.h"

namespace ondine::graph {

// Whether the shapes are those of the adapter's form and of each other.
bool fit(const Adapter& adapter, const Shape& weight, const Shape& a, const Shape& b);
// merged_scale a b in the order of the weight's elements.
std::vector<double> low_rank_product(const Adapter& adapter, const Tensor& a, const Tensor& b);
// merged_scale times the parts `added` of these channels, at their places among the weight's
// elements; nothing where shapes or channels do not fit.
std::optional<std::vector<double>> channel_parts(const Adapter& adapter, const Shape& weight,
                                                 std::span<const std::int64_t> channels,
                                                 const Tensor& added);
// For each output the length of the vector that multiplies its inputs.
std::vector<double> output_lengths(const std::vector<double>& weight, const Shape& shape,
                                   bool transposed);
// The output to which element i of the weight belongs, and the input channel.
std::size_t output_of(std::size_t i, const Shape& shape, bool transposed);
std::size_t channel_of(std::size_t i, const Shape& shape, bool transposed);

}  // namespace ondine::graph
