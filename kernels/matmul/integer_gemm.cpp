#include "kernels/matmul/integer_gemm.h"

#include <type_traits>

#include <Eigen/Core>

#include "core/stop.h"

namespace ondine::math {
namespace {

// A dense row-major matrix, seen transposed where `trans` says so.
template <class U>
using MatrixView = Eigen::Map<const Eigen::Matrix<U, Eigen::Dynamic, Eigen::Dynamic>, 0,
                              Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

template <class U, class T>
MatrixView<U> view(const T* data, std::int64_t rows, std::int64_t cols, bool trans) {
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  // Column-major maps: the outer stride is that between columns.
  const Strides strides = trans ? Strides(static_cast<Eigen::Index>(rows), 1)
                                : Strides(1, static_cast<Eigen::Index>(cols));
  return MatrixView<U>(reinterpret_cast<const U*>(data), static_cast<Eigen::Index>(rows),
                       static_cast<Eigen::Index>(cols), strides);
}

}  // namespace

template <class T>
void integer_gemm(ThreadPool& pool, const GemmShape& s, const T* a, const T* b, T* c) {
  using U = std::make_unsigned_t<T>;  // whose overflow is defined
  using Rows = Eigen::Matrix<U, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  constexpr std::int64_t most_work = std::int64_t{1} << 26;  // multiplications between checkpoints
  constexpr std::int64_t grain = 64;                         // rows: each chunk rearranges B
  pool.for_chunks(s.m, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t rows = last - first;
    Eigen::Map<Rows> to(reinterpret_cast<U*>(c) + first * s.n, rows, s.n);
    const auto left = view<U>(a, s.m, s.k, s.trans_a).middleRows(first, rows);
    const auto right = view<U>(b, s.k, s.n, s.trans_b);
    // Many columns at a time: each product rearranges its rows of A.
    const std::int64_t columns =
        std::max<std::int64_t>(64, most_work / std::max<std::int64_t>(1, rows * s.k));
    for (std::int64_t j = 0; j < s.n; j += columns) {
      const std::int64_t width = std::min(columns, s.n - j);
      checkpoint(rows * s.k * width / 2);
      to.middleCols(j, width).noalias() = left * right.middleCols(j, width);
    }
  });
}

template void integer_gemm(ThreadPool&, const GemmShape&, const std::int32_t*, const std::int32_t*,
                           std::int32_t*);
template void integer_gemm(ThreadPool&, const GemmShape&, const std::int64_t*, const std::int64_t*,
                           std::int64_t*);
template void integer_gemm(ThreadPool&, const GemmShape&, const std::uint32_t*,
                           const std::uint32_t*, std::uint32_t*);
template void integer_gemm(ThreadPool&, const GemmShape&, const std::uint64_t*,
                           const std::uint64_t*, std::uint64_t*);

}  // namespace ondine::math
