// Probabilities of classes from their scores.
#pragma once

#include <span>
#include <vector>

namespace ondine::metrics {

// log(sum(exp(scores))), without overflow.
double log_sum_exp(std::span<const double> scores);
// Appends the softmax of the scores.
void append_softmax(std::span<const double> scores, std::vector<double>& to);
// Whether every row of `scores` is of numbers from 0 to 1 that sum to 1 but for rounding.
bool are_probabilities(std::span<const double> scores, std::size_t columns);

}  // namespace ondine::metrics
