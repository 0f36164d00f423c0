#include "graph/training/adapters/principal.h"

#include <Eigen/SVD>
#include <cmath>

#include "core/stop.h"

namespace ondine::graph {

PrincipalFactors principal_factors(const std::vector<double>& matrix, std::int64_t rows,
                                   std::int64_t cols, std::int64_t rank) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  check_stop();
  const Eigen::Map<const Matrix> given(matrix.data(), rows, cols);
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(given, Eigen::ComputeThinU | Eigen::ComputeThinV);
  check_stop();
  PrincipalFactors result;
  result.left.resize(static_cast<std::size_t>(rows * rank));
  result.right.resize(static_cast<std::size_t>(rank * cols));
  Eigen::Map<Matrix> left(result.left.data(), rows, rank);
  Eigen::Map<Matrix> right(result.right.data(), rank, cols);
  for (Eigen::Index k = 0; k < rank; ++k) {
    const double sign = svd.matrixV().col(k).array().cube().sum() < 0 ? -1 : 1;
    const double root = sign * std::sqrt(svd.singularValues()[k]);
    left.col(k) = root * svd.matrixU().col(k);
    right.row(k) = root * svd.matrixV().col(k).transpose();
  }
  return result;
}

}  // namespace ondine::graph
