// The size of x[:length] where x has `bound` elements: min(length, bound). It is a symbolic dim of
// its own, which has no name.
#pragma once

#include <optional>

#include "graph/ir/type.h"

namespace ondine::graph {

struct ClippedDim {
  Dim length;  // symbolic
  std::int64_t bound;
};

// Dynamic where `length` is not symbolic or there is no room for the two numbers.
Dim clipped(Dim length, std::int64_t bound);
// What `dim` was made of, if it is such a dim.
std::optional<ClippedDim> clipped_dim(Dim dim);
// Whether tensors with these dims only broadcast where `part` is as large as `length`, since both
// are then more than 1 or the same.
bool broadcasts_only_whole(Dim part, Dim length);

}  // namespace ondine::graph
