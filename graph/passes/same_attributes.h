// Comparison of attributes and constants by content.
#pragma once

#include <cstddef>

#include "graph/ir/document.h"

namespace ondine::graph {

// Whether both have the same names and bitwise equal values, in any order. Graphs, sparse tensors
// and types always count as different.
bool same_attributes(const Attributes& a, const Attributes& b);

// Hashes consistent with Tensor::identical and same_attributes.
std::size_t hash_of(const Tensor& tensor);
std::size_t hash_of(const Attributes& attributes);

}  // namespace ondine::graph
