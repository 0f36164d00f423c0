// Scores of a batch of outputs against labels.
#pragma once

#include <cstdint>

#include <ondine/tensor.h>

namespace ondine::fit {

// How many labels the largest entry along axis 1 hits, the first of several. Output [N, C, ...],
// labels [N, ...].
std::int64_t count_hits(const Tensor& output, const Tensor& labels);
// Sum of squared differences; as many elements in both.
double squared_distance(const Tensor& output, const Tensor& labels);

}  // namespace ondine::fit
