// The part of a matrix with its largest singular values.
#pragma once

#include <cstdint>
#include <vector>

namespace ondine::graph {

// matrix [rows, cols], about left [rows, rank] right [rank, cols], all by rows. Each factor has
// the roots of the singular values; every row of `right` has a positive sum of cubes, so that the
// result does not depend on the method.
struct PrincipalFactors {
  std::vector<double> left;
  std::vector<double> right;
};
// rank <= min(rows, cols).
PrincipalFactors principal_factors(const std::vector<double>& matrix, std::int64_t rows,
                                   std::int64_t cols, std::int64_t rank);

}  // namespace ondine::graph
