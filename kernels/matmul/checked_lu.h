// Factorizations of large matrices that stop at a deadline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <Eigen/LU>

#include "core/stop.h"

namespace ondine::kernels {

using SquareMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Above, what Eigen does in one call takes long.
inline constexpr std::int64_t unchecked_rows = 512;

// P A Q = L U with complete pivoting: the steps of Eigen::FullPivLU, with a checkpoint in each.
class CheckedFullLu : public Eigen::FullPivLU<SquareMatrix> {
 public:
  explicit CheckedFullLu(const Eigen::Ref<const SquareMatrix>& a)
      : Eigen::FullPivLU<SquareMatrix>(a.rows(), a.cols()) {
    m_lu = a;
    m_l1_norm = m_lu.cwiseAbs().colwise().sum().maxCoeff();
    m_maxpivot = 0;
    const Eigen::Index n = m_lu.rows();
    m_nonzero_pivots = n;
    Eigen::Index swaps = 0;
    for (Eigen::Index k = 0; k < n; ++k) {
      m_rowsTranspositions.coeffRef(k) = m_colsTranspositions.coeffRef(k) = static_cast<int>(k);
      if (m_nonzero_pivots < n) continue;
      checkpoint((n - k) * (n - k));
      if (!eliminate(k, swaps)) m_nonzero_pivots = k;
    }
    m_p.setIdentity(n);
    for (Eigen::Index k = n - 1; k >= 0; --k) {
      m_p.applyTranspositionOnTheRight(k, m_rowsTranspositions.coeff(k));
    }
    m_q.setIdentity(n);
    for (Eigen::Index k = 0; k < n; ++k) {
      m_q.applyTranspositionOnTheRight(k, m_colsTranspositions.coeff(k));
    }
    m_det_pq = swaps % 2 != 0 ? -1 : 1;
    m_isInitialized = true;
  }

  // A^-1 by columns; A is regular.
  SquareMatrix inverse_by_columns() const {
    const Eigen::Index n = m_lu.rows();
    SquareMatrix result(n, n);
    for_pieces(n, n * n, [&](std::int64_t first, std::int64_t last) {
      result.middleCols(first, last - first) =
          solve(SquareMatrix::Identity(n, n).middleCols(first, last - first));
    });
    return result;
  }

 private:
  // false where nothing but zeros is left.
  bool eliminate(Eigen::Index k, Eigen::Index& swaps) {
    const Eigen::Index n = m_lu.rows();
    Eigen::Index row = 0, column = 0;
    const double pivot = m_lu.bottomRightCorner(n - k, n - k).cwiseAbs().maxCoeff(&row, &column);
    if (pivot == 0) return false;
    m_maxpivot = std::max(m_maxpivot, pivot);
    row += k;
    column += k;
    m_rowsTranspositions.coeffRef(k) = static_cast<int>(row);
    m_colsTranspositions.coeffRef(k) = static_cast<int>(column);
    if (row != k) m_lu.row(k).swap(m_lu.row(row)), ++swaps;
    if (column != k) m_lu.col(k).swap(m_lu.col(column)), ++swaps;
    const Eigen::Index rest = n - k - 1;
    m_lu.col(k).tail(rest) /= m_lu.coeff(k, k);
    m_lu.bottomRightCorner(rest, rest).noalias() -= m_lu.col(k).tail(rest) * m_lu.row(k).tail(rest);
    return true;
  }
};

// A^-1 by partial pivoting, in blocks. false where A is singular.
inline bool invert_checked(SquareMatrix a, Eigen::Map<SquareMatrix>& inverse) {
  constexpr Eigen::Index block = 64;
  const Eigen::Index n = a.rows();
  inverse.setIdentity();
  for (Eigen::Index k = 0; k < n; k += block) {
    const Eigen::Index width = std::min(block, n - k);
    for (Eigen::Index j = k; j < k + width; ++j) {
      checkpoint((n - j) * block);
      Eigen::Index row = 0;
      if (a.col(j).tail(n - j).cwiseAbs().maxCoeff(&row) == 0) return false;
      if (row != 0) {
        a.row(j).swap(a.row(j + row));
        inverse.row(j).swap(inverse.row(j + row));
      }
      const Eigen::Index below = n - j - 1, right = k + width - j - 1;
      a.col(j).tail(below) /= a(j, j);
      a.block(j + 1, j + 1, below, right).noalias() -=
          a.col(j).tail(below) * a.row(j).segment(j + 1, right);
    }
    const Eigen::Index rest = n - k - width;
    auto right = a.block(k, k + width, width, rest);
    a.block(k, k, width, width).triangularView<Eigen::UnitLower>().solveInPlace(right);
    for_pieces(rest, rest * width / 4, [&](std::int64_t first, std::int64_t last) {
      a.block(k + width + first, k + width, last - first, rest).noalias() -=
          a.block(k + width + first, k, last - first, width) * right;
    });
  }
  for_pieces(n, n * n / 2, [&](std::int64_t first, std::int64_t last) {
    auto columns = inverse.middleCols(first, last - first);
    a.triangularView<Eigen::UnitLower>().solveInPlace(columns);
    a.triangularView<Eigen::Upper>().solveInPlace(columns);
  });
  return true;
}

}  // namespace ondine::kernels
