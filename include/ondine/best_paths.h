// Sequences of labels from the scores of each step, as the CTC loss reads them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ondine/export.h>
#include <ondine/tensor.h>

namespace ondine {

// The best path of each row of `scores` [N, T, C] in its first steps[row] steps, or in all of them
// where `steps` is empty: the class with the largest score of each step (the first of several),
// runs of one class as one, without `blank`. A. Graves et al., ICML 2006, section 3.2.
// Error(mismatch) for another shape, and for another number of steps than rows or steps above T.
ONDINE_API std::vector<std::vector<std::int64_t>> best_paths(
    const Tensor& scores, std::int64_t blank, std::span<const std::uint64_t> steps = {});

}  // namespace ondine
