// Comparing attributes and constants by content.
#pragma once

#include <cstddef>

#include "graph/ir/document.h"

namespace ondine::graph {

// The same names with the same values, bit by bit, in any order. Values that are not compared
// (graphs, sparse tensors, types) count as different.
bool same_attributes(const Attributes& a, const Attributes& b);

// Equal for identical tensors, and for attributes that are the same.
std::size_t hash_of(const Tensor& tensor);
std::size_t hash_of(const Attributes& attributes);

}  // namespace ondine::graph
