// Labels of sequences and their lengths.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ondine/tensor.h>

namespace ondine::fit {

using Labels = std::vector<std::int64_t>;

// Suffixes of the inputs that prepare() writes beside the labels: after the name of the labels, the
// number of labels of each row, and of its steps.
inline constexpr std::array<const char*, 2> length_suffixes = {"_lengths", "_input_lengths"};

// The elements of `tensor`, one for each row. Error(mismatch) for another number of rows, and for a
// length that is negative or above `most`.
std::vector<std::uint64_t> lengths_of(const Tensor& tensor, std::int64_t rows, std::int64_t most);

// The first counts[row] labels of each row of `labels` [N, L]. Error(mismatch) for another shape,
// and as lengths_of().
std::vector<Labels> cut_labels(const Tensor& labels, const Tensor& counts);

}  // namespace ondine::fit
