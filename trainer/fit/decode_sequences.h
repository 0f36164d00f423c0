// Sequences of labels from the scores of each step, as the CTC loss reads them.
#pragma once

#include <cstdint>
#include <vector>

#include <ondine/tensor.h>

namespace ondine::fit {

using Labels = std::vector<std::int64_t>;

// The best path of each row of `scores` [N, T, C] in its first steps[row] steps: the class with the
// largest score of each step (the first of several), runs of one class as one, without `blank`.
// A. Graves et al., ICML 2006, section 3.2. Error(mismatch) for another shape, and for a number of
// steps that is negative or above T.
std::vector<Labels> best_paths(const Tensor& scores, const Tensor& steps, std::int64_t blank);

// The first counts[row] labels of each row of `labels` [N, L]. Errors in the same way.
std::vector<Labels> cut_labels(const Tensor& labels, const Tensor& counts);

}  // namespace ondine::fit
