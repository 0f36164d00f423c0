#include "kernels/matmul/integer_gemm.h"

#include <type_traits>

#include <Eigen/Core>

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
  const Strides strides = trans ? Strides(rows, 1) : Strides(1, cols);
  return {reinterpret_cast<const U*>(data), rows, cols, strides};
}

}  // namespace

template <class T>
void integer_gemm(ThreadPool& pool, const GemmShape& s, const T* a, const T* b, T* c) {
  using U = std::make_unsigned_t<T>;  // whose overflow is defined
  using Rows = Eigen::Matrix<U, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  constexpr std::int64_t grain = 64;  // rows: each chunk rearranges B
  pool.for_chunks(s.m, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t rows = last - first;
    Eigen::Map<Rows> to(reinterpret_cast<U*>(c) + first * s.n, rows, s.n);
    to.noalias() =
        view<U>(a, s.m, s.k, s.trans_a).middleRows(first, rows) * view<U>(b, s.k, s.n, s.trans_b);
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
