#include "kernels/matmul/gemm_primitive.h"

#include <algorithm>

#include "kernels/common/scratch_pool.h"
#include "kernels/matmul/gemm_call.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

// Tiles of C and products of a batch that one chunk computes. Every element is computed in the same
// way in any tile, so that their number may depend on that of the threads.
struct Tiles {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t down;
  std::int64_t across;
  std::int64_t grain;

  std::int64_t count() const { return down * across; }
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A chunk should be worth waking a thread: this many multiplications, fewer if memory is the limit.
constexpr std::int64_t chunk_work = std::int64_t{1} << 21;
constexpr std::int64_t chunk_work_vector = std::int64_t{1} << 18;

// Few rows take other ways: where C has more, no tile may have so few.
constexpr std::int64_t few_rows = 4;

Tiles tiles_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, int threads) {
  const std::int64_t chunk = m <= few_rows ? chunk_work_vector : chunk_work;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  // Each tile packs its factors, so that few large ones cost least; deadlines are seen between.
  constexpr double longest = 1u << 31;
  const double most =
      threads <= 1 ? 1.0 : std::max(1.0, 8.0 * threads / static_cast<double>(batch));
  const auto wanted = static_cast<std::int64_t>(std::max(
      std::clamp(work / static_cast<double>(chunk), 1.0, most), std::min(work / longest, 1e6)));
  Tiles tiles{m, n, 0, 0, 1};
  const auto recount = [&] {
    tiles.down = divide_up(m, tiles.rows);
    tiles.across = divide_up(n, tiles.cols);
  };
  recount();
  while (tiles.count() < wanted) {
    if (tiles.cols > 64 && (tiles.cols >= tiles.rows || tiles.rows <= 96)) {
      tiles.cols = divide_up(divide_up(tiles.cols, 2), 64) * 64;
    } else if (tiles.rows > 48) {
      tiles.rows = divide_up(divide_up(tiles.rows, 2), 12) * 12;
    } else {
      break;
    }
    recount();
  }
  while (m > few_rows && m % tiles.rows <= few_rows && m % tiles.rows > 0) {
    tiles.rows += 12;
    recount();
  }
  const double tile_work = work / static_cast<double>(tiles.count());
  tiles.grain = static_cast<std::int64_t>(
      std::clamp(static_cast<double>(chunk) / std::max(tile_work, 1.0), 1.0, 1e6));
  return tiles;
}

// One column as one row: C^T = op(B)^T op(A)^T.
bool is_column(const GemmShape& s) { return s.n == 1 && s.m > 1 && s.ldc <= 1; }

template <class T>
GemmCall<T> call_of(const GemmShape& s, const GemmOptions<T>& o) {
  GemmCall<T> call = call_without_b(s, o);
  const std::int64_t ldb = s.ldb ? s.ldb : s.trans_b ? s.k : s.n;
  call.b_row = s.trans_b ? 1 : ldb;
  call.b_col = s.trans_b ? ldb : 1;
  if (is_column(s)) {
    std::swap(call.m, call.n);
    std::swap(call.a_row, call.b_col);
    std::swap(call.a_col, call.b_row);
    std::swap(call.col_bias, call.row_bias);
    call.ldc = call.n;
  }
  // A single row or column has any stride.
  if (call.a_col != 1 && call.k == 1) call.a_col = 1;
  if (call.a_row != 1 && call.a_col != 1 && call.m == 1) call.a_row = 1;
  if (call.b_col != 1 && call.n == 1) {
    if (call.b_row == 1) {
      call.b_col = call.k;
    } else {
      call.b_col = 1;
    }
  }
  return call;
}

template <class T>
std::size_t slot_bytes(GemmCall<T> call, const Tiles& tiles, const Kernels& kernels) {
  call.m = tiles.rows;
  call.n = tiles.cols;
  return static_cast<std::size_t>(kernel_set<T>(kernels).gemm->scratch_bytes(call));
}

}  // namespace

template <class T>
std::size_t gemm_workspace(const GemmShape& shape, std::int64_t batch_count, int threads,
                           const Kernels& kernels) {
  if (shape.m == 0 || shape.n == 0 || batch_count == 0) return 0;
  const auto call = call_of<T>(shape, {});
  const auto slot = [&](int by) {
    return slot_bytes(call, tiles_of(call.m, call.n, call.k, batch_count, by), kernels);
  };
  // A pool of another size cuts other tiles, none larger than those of one thread.
  return std::max(ScratchPool::bytes(slot(threads), threads), ScratchPool::bytes(slot(1), 1));
}

template <class T>
void gemm(ThreadPool& pool, const GemmShape& shape, const GemmBatch& batch, const T* a, const T* b,
          T* c, const GemmOptions<T>& options, Workspace workspace, const Kernels& kernels) {
  if (shape.m == 0 || shape.n == 0 || batch.count == 0) return;
  const auto whole = call_of(shape, options);
  const Tiles tiles = tiles_of(whole.m, whole.n, whole.k, batch.count, pool.threads());
  const auto run = kernel_set<T>(kernels).gemm->run;
  const bool column = is_column(shape);
  const auto chunk = [&](std::byte* scratch, std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index) {
      const std::int64_t which = index / tiles.count();
      const std::int64_t i = index % tiles.count() / tiles.across * tiles.rows;
      const std::int64_t j = index % tiles.across * tiles.cols;
      auto call = whole;
      call.a = a + (batch.offsets_a ? batch.offsets_a[which] : which * batch.stride_a);
      call.b = b + (batch.offsets_b ? batch.offsets_b[which] : which * batch.stride_b);
      if (column) std::swap(call.a, call.b);
      call.a += i * call.a_row;
      call.b += j * call.b_col;
      const std::int64_t at = which * batch.stride_c + i * call.ldc + j;
      call.c = c + at;
      if (call.addend) call.addend += at;
      if (call.col_bias) call.col_bias += j;
      if (call.row_bias) call.row_bias += i;
      call.m = std::min(tiles.rows, whole.m - i);
      call.n = std::min(tiles.cols, whole.n - j);
      run(call, scratch);
    }
  };
  ScratchPool slots(workspace, slot_bytes(whole, tiles, kernels));
  slots.for_chunks(pool, batch.count * tiles.count(), tiles.grain, chunk);
}

template std::size_t gemm_workspace<float>(const GemmShape&, std::int64_t, int, const Kernels&);
template std::size_t gemm_workspace<double>(const GemmShape&, std::int64_t, int, const Kernels&);
template void gemm<float>(ThreadPool&, const GemmShape&, const GemmBatch&, const float*,
                          const float*, float*, const GemmOptions<float>&, Workspace,
                          const Kernels&);
template void gemm<double>(ThreadPool&, const GemmShape&, const GemmBatch&, const double*,
                           const double*, double*, const GemmOptions<double>&, Workspace,
                           const Kernels&);

}  // namespace ondine::math
