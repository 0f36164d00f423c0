#include "kernels/matmul/gemm_primitive.h"

#include <algorithm>
#include <utility>

#include "kernels/common/rounding.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/common/stored_elements.h"
#include "kernels/matmul/gemm_call.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

// A chunk should be worth waking a thread: this many multiplications, fewer if memory is the limit.
constexpr std::int64_t chunk_work = std::int64_t{1} << 21;
constexpr std::int64_t chunk_work_vector = std::int64_t{1} << 18;

// Few rows are computed in another way: where C has more rows, no tile may have so few.
constexpr std::int64_t few_rows = 4;

// So few columns are one block, for which A is packed once anyway.
constexpr std::int64_t most_once = 512;

// Elements of a factor that are rounded at once.
constexpr std::int64_t most_rounded = std::int64_t{4} << 20;

// One column as one row: C^T = op(B)^T op(A)^T.
bool is_column(const GemmShape& s) { return s.n == 1 && s.m > 1 && s.ldc <= 1; }

// Elements of bfloat16 in one.
template <class T>
constexpr std::int64_t rounded_in = sizeof(T) / 2;

// Without pointers.
template <class T>
GemmCall<T> call_of(const GemmShape& s) {
  GemmCall<T> call = call_without_b<T>(s, {});
  const std::int64_t ldb = s.ldb ? s.ldb : s.trans_b ? s.k : s.n;
  call.b_row = s.trans_b ? 1 : ldb;
  call.b_col = s.trans_b ? ldb : 1;
  call.a = Elements<const T>(s.a_stored);
  call.b = Elements<const T>(s.b_stored);
  call.c = Elements<T>(s.c_stored);
  call.block_k = s.block_k;
  if (is_column(s)) {
    std::swap(call.m, call.n);
    std::swap(call.a, call.b);
    std::swap(call.a_row, call.b_col);
    std::swap(call.a_col, call.b_row);
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

// Whether the tiles of split factors compute a product, and all parts of one.
template <class T>
bool is_split(const SimdTables& kernels, const GemmShape& s) {
  const auto splits = tables_of<T>(kernels).gemm->splits;
  return splits != nullptr &&
         splits(s.whole_m > 0 ? s.whole_m : s.m, s.whole_n > 0 ? s.whole_n : s.n,
                s.block_k > 0 ? s.block_k : s.k);
}

// Kernels for `shape`: of lower precision, or in tiles, only if rounding or splitting and packing
// cost less than they save.
template <class T>
const SimdTables& suited(const SimdTables& kernels, const GemmShape& shape) {
  const bool large =
      sizeof(T) == sizeof(float) && std::min({shape.m, shape.n, shape.k}) >= least_rounded;
  if (large && rounds_products(kernels)) return kernels;
  const SimdTables& full = without(kernels, ProductMode::bf16);
  return is_split<T>(full, shape) ? full : without(full, ProductMode::split);
}

std::int64_t chunk_of(std::int64_t m) { return m <= few_rows ? chunk_work_vector : chunk_work; }

// Each tile packs its factors and reads A again, so that few large ones cost least; deadlines are
// seen between. A batch has more, since its products are not spread evenly over the threads.
std::int64_t wanted_tiles(double work, std::int64_t chunk, std::int64_t batch_count, int threads) {
  constexpr double longest = 1u << 31;
  const double most = threads <= 1 ? 1.0
                                   : std::max(1.0, (batch_count == 1 ? 2.0 : 8.0) * threads /
                                                       static_cast<double>(batch_count));
  const double fair = std::clamp(work / static_cast<double>(chunk), 1.0, most);
  return static_cast<std::int64_t>(std::max(fair, std::min(work / longest, 1e6)));
}

// Options of the whole product that one part of it applies.
template <class T>
GemmOptions<T> own_options(GemmOptions<T> options, bool biases_first) {
  const GemmPart part = options.part;
  if (!part.is_first) {
    options.beta = 1;
    options.addend = nullptr;
  }
  if (!part.is_last) options.activation = Activation::none;
  if (!(biases_first ? part.is_first : part.is_last)) {
    options.col_bias = nullptr;
    options.row_bias = nullptr;
  }
  return options;
}

}  // namespace

std::int64_t rounded_row(std::int64_t m, std::int64_t k) {
  const std::int64_t row = odd_lines(k, 32);
  return m <= most_rounded / row ? row : 0;
}

template <class T>
typename GemmPrimitive<T>::Tiles GemmPrimitive<T>::make_tiles(const GemmCall<T>& call,
                                                              std::int64_t batch_count,
                                                              int threads) {
  const std::int64_t m = call.m;
  const std::int64_t n = call.n;
  const std::int64_t k = call.k;
  const std::int64_t chunk = chunk_of(m);
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const std::int64_t wanted = wanted_tiles(work, chunk, batch_count, threads);
  Tiles tiles{m, n, 0, 0, 1};
  const std::int64_t unit = call.splits ? 32 : 12;  // rows that a kernel takes
  // Each row of tiles packs B again: that costs most where B is large and few rows use it.
  constexpr std::int64_t most_rows = 288;
  constexpr std::int64_t large_b = std::int64_t{1} << 23;
  if ((call.a_paired && n > most_once) || (m <= most_rows && n * k >= large_b)) {
    tiles.cols = std::min(n, std::max<std::int64_t>(64, divide_up(divide_up(n, wanted), 32) * 32));
  }
  const auto recount = [&] {
    tiles.down = divide_up(m, tiles.rows);
    tiles.across = divide_up(n, tiles.cols);
  };
  recount();
  while (tiles.count() < wanted) {
    if (tiles.cols > 64 && (tiles.cols >= tiles.rows || tiles.rows <= 96)) {
      tiles.cols = divide_up(divide_up(tiles.cols, 2), 64) * 64;
    } else if (tiles.rows > 48) {
      tiles.rows = divide_up(divide_up(tiles.rows, 2), unit) * unit;
    } else {
      break;
    }
    recount();
  }
  while (m > few_rows && m % tiles.rows <= few_rows && m % tiles.rows > 0) {
    tiles.rows += unit;
    recount();
  }
  const double tile_work = work / static_cast<double>(tiles.count());
  tiles.grain = static_cast<std::int64_t>(
      std::clamp(static_cast<double>(chunk) / std::max(tile_work, 1.0), 1.0, 1e6));
  return tiles;
}

template <class T>
bool GemmPrimitive<T>::takes_bf16(const GemmShape& shape, const SimdTables& kernels) {
  return rounds_products(suited<T>(kernels, shape));
}

template <class T>
bool GemmPrimitive<T>::widens_b(const GemmShape& shape, const SimdTables& kernels) {
  const SimdTables& suited_ones = suited<T>(kernels, shape);
  const auto widens = tables_of<T>(suited_ones).gemm->widens_b;
  return widens != nullptr && !is_column(shape) && !rounds_products(suited_ones) &&
         widens(call_of<T>(shape));
}

template <class T>
bool GemmPrimitive<T>::rounds_result(const GemmShape& shape, const SimdTables& kernels) {
  const auto rounds = tables_of<T>(suited<T>(kernels, shape)).gemm->rounds_result;
  return rounds != nullptr && rounds(call_of<T>(shape));
}

template <class T>
bool GemmPrimitive<T>::splits(const GemmShape& shape, const SimdTables& kernels) {
  return is_split<T>(suited<T>(kernels, shape), shape);
}

template <class T>
GemmPrimitive<T>::GemmPrimitive(const GemmShape& shape, std::int64_t batch_count, int threads,
                                const SimdTables& given)
    : is_column_(is_column(shape)),
      kernels_(&suited<T>(given, shape)),
      a_stored_(shape.a_stored),
      b_stored_(shape.b_stored) {
  const SimdTables& kernels = *kernels_;
  if (shape.m == 0 || shape.n == 0 || batch_count == 0) return;
  whole_ = call_of<T>(shape);
  const GemmKernels<T>& gemm = *tables_of<T>(kernels).gemm;
  if (reads_pairs()) {
    whole_.a_paired = true;
    whole_.a = {};
    whole_.a_row /= 2;
    in_pairs_ = 2;
  }
  rounded_terms_ = rounded_terms(batch_count);
  if (rounded_terms_ > 0) {
    rounded_row_ = odd_lines(rounded_terms_, 32) / rounded_in<T>;
    whole_.a_paired = true;
    whole_.a = {};
    a_row_ = std::exchange(whole_.a_row, rounded_row_);
    rounded_bytes_ = bytes_of<T>(checked_mul(whole_.m, rounded_row_));
  }
  whole_.splits = is_split<T>(kernels, shape);
  if (whole_.block_k == 0 && gemm.whole_block_k != nullptr) {
    whole_.block_k = gemm.whole_block_k(whole_);
  }
  tiles_ = make_tiles(whole_, batch_count, threads);
  // The first and the last of a row and of a column.
  const std::int64_t step_i = std::max<std::int64_t>(1, tiles_.down - 1);
  const std::int64_t step_j = std::max<std::int64_t>(1, tiles_.across - 1);
  for (std::int64_t i = 0; i < tiles_.down; i += step_i) {
    for (std::int64_t j = 0; j < tiles_.across; j += step_j) {
      blockings_[blocking_index(i, j)] = gemm.blocking(tile_call(i, j));
    }
  }
  GemmCall<T> largest = whole_;
  largest.m = tiles_.rows;
  largest.n = tiles_.cols;
  slot_bytes_ = bytes_of<std::byte>(gemm.scratch_bytes(largest));
  workspace_ = rounded_bytes_ + ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
bool GemmPrimitive<T>::reads_pairs() const {
  if (!whole_.a.is_bf16() || whole_.a_col != 1 || whole_.k % 2 != 0) return false;
  // Rows that share sets of the cache are copied.
  constexpr std::int64_t page = 4096 / 2;
  return whole_.a_row % 2 == 0 && whole_.a_row % page != 0;
}

template <class T>
std::int64_t GemmPrimitive<T>::rounded_terms(std::int64_t batch_count) const {
  const GemmKernels<T>& gemm = *tables_of<T>(*kernels_).gemm;
  if (gemm.round_a == nullptr || batch_count > 1) return 0;
  if (whole_.a_paired || whole_.a_col != 1 || whole_.n <= most_once) return 0;
  if (math::rounded_row(whole_.m, whole_.k) > 0) return whole_.k;
  const std::int64_t block = gemm.blocking(whole_).kc;
  return most_rounded / whole_.m / block * block;
}

template <class T>
void GemmPrimitive<T>::round_a(ThreadPool& pool, Elements<const T> a, std::int64_t terms,
                               T* rounded) const {
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / terms);
  pool.for_chunks(whole_.m, grain, [&](std::int64_t first, std::int64_t last) {
    GemmCall<T> rows = whole_;
    rows.m = last - first;
    rows.k = terms;
    rows.a_row = a_row_;
    rows.a_paired = false;
    rows.a = a + first * a_row_;
    tables_of<T>(*kernels_).gemm->round_a(rows, rounded + first * rounded_row_, rounded_row_);
  });
}

template <class T>
GemmCall<T> GemmPrimitive<T>::tile_call(std::int64_t i, std::int64_t j) const {
  GemmCall<T> call = whole_;
  call.m = std::min(tiles_.rows, whole_.m - i * tiles_.rows);
  call.n = std::min(tiles_.cols, whole_.n - j * tiles_.cols);
  return call;
}

template <class T>
std::string_view GemmPrimitive<T>::name() const noexcept {
  switch (blockings_[blocking_index(0, 0)].path) {
    case GemmPath::few_rows:
      return "few_rows";
    case GemmPath::dots:
      return "dots";
    case GemmPath::transposed:
      return "transposed";
    case GemmPath::blocked:
      return "blocked";
    case GemmPath::split:
      return "split";
    case GemmPath::blocked_bf16:
      return "blocked_bf16";
    case GemmPath::no_product:
      break;
  }
  return "no_product";
}

template <class T>
void GemmPrimitive<T>::run(ThreadPool& pool, const GemmBatch& batch, Elements<const T> a,
                           Elements<const T> b, Elements<T> c, const GemmOptions<T>& options,
                           Workspace workspace) const {
  if (tiles_.count() == 0) return;
  require_stored(a, a_stored_);
  require_stored(b, b_stored_);
  require_stored(c, whole_.c.storage());
  if (in_pairs_ > 1) a = a.pairs();
  if (rounded_terms_ == 0) return run_tiles(pool, batch, whole_.k, a, b, c, options, workspace);
  T* const rounded = static_cast<T*>(workspace.data);
  workspace.data = static_cast<std::byte*>(workspace.data) + rounded_bytes_;
  workspace.bytes -= rounded_bytes_;
  for (std::int64_t p = 0; p < whole_.k; p += rounded_terms_) {
    const std::int64_t terms = std::min(rounded_terms_, whole_.k - p);
    GemmOptions<T> part = options;
    part.part.is_first &= p == 0;
    part.part.is_last &= p + terms == whole_.k;
    round_a(pool, a + p, terms, rounded);
    run_tiles(pool, batch, terms, rounded, b + p * whole_.b_row, c, part, workspace);
  }
}

template <class T>
void GemmPrimitive<T>::run_tiles(ThreadPool& pool, const GemmBatch& batch, std::int64_t terms,
                                 Elements<const T> a, Elements<const T> b, Elements<T> c,
                                 const GemmOptions<T>& options, Workspace workspace) const {
  const GemmKernels<T>& kernels = *tables_of<T>(*kernels_).gemm;
  const GemmOptions<T> own = own_options(options, kernels.biases_first);
  const auto chunk = [&](std::byte* scratch, std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index) {
      const std::int64_t which = index / tiles_.count();
      const std::int64_t down = index % tiles_.count() / tiles_.across;
      const std::int64_t across = index % tiles_.across;
      const std::int64_t i = down * tiles_.rows;
      const std::int64_t j = across * tiles_.cols;
      GemmCall<T> call = tile_call(down, across);
      call.k = terms;
      call.a = a + (batch.offsets_a ? batch.offsets_a[which] : which * batch.stride_a) / in_pairs_;
      call.b = b + (batch.offsets_b ? batch.offsets_b[which] : which * batch.stride_b);
      if (is_column_) std::swap(call.a, call.b);
      call.a += i * call.a_row;
      call.b += j * call.b_col;
      const std::int64_t at = which * batch.stride_c + i * call.ldc + j;
      call.c = c + at;
      call.addend = own.addend ? own.addend + at : nullptr;
      call.col_bias = is_column_ ? own.row_bias : own.col_bias;
      call.row_bias = is_column_ ? own.col_bias : own.row_bias;
      if (call.col_bias) call.col_bias += j;
      if (call.row_bias) call.row_bias += i;
      call.alpha = own.alpha;
      call.beta = own.beta;
      call.activation = own.activation;
      kernels.run_blocking(call, blockings_[blocking_index(down, across)], scratch);
    }
  };
  ScratchPool slots(workspace, slot_bytes_);
  slots.for_chunks(pool, batch.count * tiles_.count(), tiles_.grain, chunk);
}

template <class T>
std::size_t gemm_workspace(const GemmShape& shape, std::int64_t batch_count, int threads,
                           const SimdTables& kernels) {
  // A pool of another size cuts other tiles, none larger than those of one thread.
  return std::max(GemmPrimitive<T>(shape, batch_count, threads, kernels).workspace(),
                  GemmPrimitive<T>(shape, batch_count, 1, kernels).workspace());
}

template class GemmPrimitive<float>;
template class GemmPrimitive<double>;
template std::size_t gemm_workspace<float>(const GemmShape&, std::int64_t, int, const SimdTables&);
template std::size_t gemm_workspace<double>(const GemmShape&, std::int64_t, int, const SimdTables&);

}  // namespace ondine::math
