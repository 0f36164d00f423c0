// The distance of V. I. Levenshtein, Soviet Physics Doklady 10 (1966).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace ondine::metrics {

// The least number of insertions, deletions and substitutions that make `a` of `b`.
template <class Sequence>
std::size_t edit_distance(const Sequence& a, const Sequence& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t replaced = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace ondine::metrics
