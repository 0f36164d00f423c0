#include "trainer/metrics/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ondine::metrics {

double log_sum_exp(std::span<const double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

void append_softmax(std::span<const double> scores, std::vector<double>& to) {
  const double scale = log_sum_exp(scores);
  for (const double score : scores) to.push_back(std::exp(score - scale));
}

bool are_probabilities(std::span<const double> scores, std::size_t columns) {
  constexpr double tolerance = 1e-2;  // of half precision
  if (columns == 0) return false;
  for (std::size_t first = 0; first < scores.size(); first += columns) {
    double sum = 0;
    for (const double p : scores.subspan(first, columns)) {
      if (!(p >= 0 && p <= 1 + tolerance)) return false;
      sum += p;
    }
    if (!(std::fabs(sum - 1) <= tolerance)) return false;
  }
  return true;
}

}  // namespace ondine::metrics
