// C = alpha A B + beta C on one thread: B is packed once for all rows, panel by panel where each is
// used first, and a panel stays in the first cache; blocks of A and of C stay in the second while k
// is passed over.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/gemm_block.h"
#include "kernels/simd/matmul/gemm_few_rows.h"
#include "kernels/simd/matmul/gemm_transposed.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr std::int64_t block_k = 256;
constexpr std::int64_t block_n = 1024;
constexpr std::int64_t block_m = 144;
constexpr std::int64_t max_k = 1024;   // of B that is packed at once
constexpr std::int64_t long_k = 2048;  // of a block, where that is given
constexpr std::int64_t padding = 64;   // elements, after each packed matrix

// Columns of C up to which A is read in place. One that is stored by rows is transposed when it is
// packed. Rows a power of two apart share few lines of the first cache, and a large A is read from
// memory.
template <class T>
std::int64_t most_by_rows(const GemmCall<T>& g) {
  constexpr std::int64_t size = sizeof(T);
  const bool far = !has_short_vectors && g.m * g.k * size >= far_bytes;
  return (far || g.a_row * size % 2048 == 0 ? 2 : 8) * panel<T>;
}

// Whether A is stored by columns that lie far apart. Such an A is read in place for fewer columns
// of C (most_by_columns): a few elements of each of many far rows are the slowest way to read
// memory.
template <class T>
bool is_far_by_columns(const GemmCall<T>& g) {
  constexpr std::int64_t size = sizeof(T), least_row = 256;
  const std::int64_t least = has_short_vectors ? second_cache : far_bytes;
  return g.a_col * size >= least_row && g.m * g.k * size >= least;
}
template <class T>
std::int64_t most_by_columns(const GemmCall<T>& g) {
  return is_far_by_columns(g) ? panel<T> / 2 - 1 : 4 * panel<T>;
}

// Packing B by rows costs about as much as a few rows of C, and less where B is read from memory:
// rows far apart that are read in place wait for it.
template <class T>
std::int64_t least_packing(const GemmCall<T>& g) {
  const bool far = g.n * g.k * std::int64_t{sizeof(T)} > second_cache;
  return has_short_vectors && far ? 4 * max_rows : 48;
}

// Terms of a block of a product of few columns whose factors are both read along k. A large A is
// read once, from memory: the hardware prefetchers need long runs of each row. With short vectors,
// panels of B that leave the first cache cost more.
template <class T>
std::int64_t whole_block_k(const GemmCall<T>& g) {
  constexpr std::int64_t size = sizeof(T);
  const bool along_k = g.a_col == 1 && g.b_row == 1 && g.b_col != 1 && !g.b_packed;
  const bool few = g.n <= 2 * panel<T> && g.n <= most_by_rows(g);
  if (has_short_vectors || !along_k || !few || g.m * g.k * size < second_cache) return 0;
  return divide_up(even_chunk(g.k, long_k), 8) * 8;
}

// How a product is cut into blocks and what is packed.
template <class T>
GemmBlocking cut_of(const GemmCall<T>& g) {
  constexpr std::int64_t nr = panel<T>;
  GemmBlocking cut;
  cut.path = GemmPath::blocked;
  cut.pack_a = g.m > max_rows && g.n > (g.a_col == 1 ? most_by_rows(g) : most_by_columns(g));
  cut.mr = even_chunk(g.m, cut.pack_a || g.a_row == 1 ? max_rows : max_separate_rows);
  cut.mc = divide_up(even_chunk(g.m, block_m), cut.mr) * cut.mr;
  cut.kc = g.block_k > 0 ? min_of(g.block_k, long_k) : divide_up(even_chunk(g.k, block_k), 8) * 8;
  // A matrix with a small stride is read in place.
  cut.pack_b = !g.b_packed && (g.b_col != 1 || (g.m >= least_packing(g) && g.b_row > 2 * nr) ||
                               (!has_masks && g.n % lanes<T> != 0));
  return cut;
}

// Bounds that grow with m, n and k, so that the largest tile of a product says what all need.
template <class T>
std::int64_t a_elements(const GemmCall<T>& g, const GemmBlocking& cut) {
  return cut.pack_a ? (min_of(g.m, block_m) + max_rows) * cut.kc + padding : 0;
}
template <class T>
std::int64_t b_elements(const GemmCall<T>& g, const GemmBlocking& cut) {
  constexpr std::int64_t nr = panel<T>;
  const std::int64_t terms = min_of(g.k, cut.kc > max_k ? cut.kc : max_k);
  return cut.pack_b ? divide_up(min_of(g.n, block_n), nr) * nr * terms + padding : 0;
}

// Memory of GemmPath::transposed: all of A^T in panels, and a block of C^T.
template <class T>
std::int64_t a_panels_elements(const GemmCall<T>& g) {
  return g.m * g.k + padding;
}
template <class T>
std::int64_t transposed_elements(const GemmCall<T>& g) {
  return a_panels_elements(g) + transposed_n * g.m;
}

// Up to this many rows, in whole panels, C^T costs less than packing B does. With more, B would be
// packed for C^T too.
template <class T>
std::int64_t most_transposed(const GemmCall<T>& g) {
  constexpr std::int64_t two_panels = 2 * panel<T>;
  return min_of(two_panels < 32 ? 32 : two_panels, most_by_rows(transposed_call(g)));
}
// Whether a tile of some rows of this product may be computed so.
template <class T>
bool has_transposed(const GemmCall<T>& g) {
  constexpr std::int64_t least_n = 48, least_k = 64;
  if (g.b_packed || g.b_row != 1 || g.b_col == 1 || g.a_col != 1) return false;
  return g.m >= panel<T> && g.n >= least_n && g.k >= least_k;
}
template <class T>
bool is_transposed(const GemmCall<T>& g) {
  return has_transposed(g) && g.m % panel<T> == 0 && g.m <= most_transposed(g);
}

template <class T>
bool is_empty(const GemmCall<T>& g) {
  return g.m == 0 || g.n == 0 || g.k == 0;
}

// With more rows, packing B costs less than it saves.
template <class T>
bool widens_b(const GemmCall<T>& g) {
  constexpr std::int64_t most_rows = 15;
  if (sizeof(T) != sizeof(float) || g.b_packed || g.m > most_rows) return false;
  return g.b_col == 1 || (g.b_row == 1 && g.a_col == 1);
}

template <class T>
GemmBlocking blocking(const GemmCall<T>& g) {
  GemmBlocking unblocked;
  if (is_empty(g)) return unblocked;
  if (g.b.is_bf16()) {
    unblocked.path = g.b_col == 1 ? GemmPath::few_rows : GemmPath::dots;
    return unblocked;
  }
  if (!g.b_packed && g.b_col == 1 && g.m <= 3) {
    unblocked.path = GemmPath::few_rows;
    return unblocked;
  }
  if (!g.b_packed && g.b_row == 1 && g.a_col == 1 && g.m <= 4 && g.k >= 2 * lanes<T>) {
    unblocked.path = GemmPath::dots;
    return unblocked;
  }
  GemmBlocking cut = cut_of(g);
  if (is_transposed(g)) cut.path = GemmPath::transposed;
  return cut;
}

template <class T>
std::int64_t scratch_bytes(const GemmCall<T>& g) {
  if (is_empty(g) || g.alpha == 0 || g.b.is_bf16()) return 0;
  const GemmPath path = blocking(g).path;
  if (path == GemmPath::few_rows) return 0;
  if (path == GemmPath::dots) {  // a smaller k may be too short for dot products
    GemmCall<T> shorter = g;
    shorter.k = 2 * lanes<T> - 1;
    return scratch_bytes(shorter);
  }
  GemmBlocking cut = cut_of(g);
  // A smaller k may be cut into larger chunks.
  cut.kc = divide_up(min_of(g.k, g.block_k > 0 ? g.block_k : block_k), 8) * 8;
  // For any stride.
  cut.pack_a |= g.m > max_rows && (g.n > 2 * panel<T> || is_far_by_columns(g));
  cut.pack_b =
      cut.pack_b || (!has_masks && !g.b_packed);  // a smaller tile may have a partial vector
  std::int64_t elements = a_elements(g, cut) + b_elements(g, cut);
  if (has_transposed(g)) {
    GemmCall<T> few = g;
    few.m = min_of(g.m, most_transposed(g));
    const std::int64_t transposed = transposed_elements(few);
    if (elements < transposed) elements = transposed;
  }
  return elements * std::int64_t{sizeof(T)};
}

template <class T>
void run_without_product(const GemmCall<T>& g) {
  GemmCall<T> row = g;
  row.m = 1;
  row.k = 0;
  row.alpha = 1;
  for (std::int64_t i = 0; i < g.m; ++i) {
    row.row_bias = g.row_bias ? g.row_bias + i : nullptr;
    row.c = g.c + i * g.ldc;
    row.addend = g.addend ? g.addend + i * g.ldc : nullptr;
    run_wide<T, 1, 1>(row);
  }
}

template <class T>
void pack_a_block(T* panels, const GemmCall<T>& g, std::int64_t i, std::int64_t mc, std::int64_t mr,
                  std::int64_t p, std::int64_t kc) {
  const T* const a = g.a.plain() + i * g.a_row + p * g.a_col;
  if (g.a_row == 1) return pack_columns(panels, a, g.a_col, mc, mr, kc, mr * kc);
  for (std::int64_t ii = 0; ii < mc; ii += mr) {
    pack_rows(panels + ii * kc, a + ii * g.a_row, g.a_row, min_of(mr, mc - ii), mr, kc, true);
  }
}

template <class T>
void pack_whole_b(const GemmCall<T>& g, T* panels) {
  pack_b_block(panels, g, 0, g.k, 0, g.n, g.packed_k > 0 ? g.packed_k : g.k);
}

// The block of A that is packed after that of `at`, of which panels of B are multiplied from
// `start` to `end` of k before the next rows.
template <class T>
PrefetchAhead next_of_a(const GemmCall<T>& g, const GemmBlocking& cut, const GemmBlock& at,
                        std::int64_t start, std::int64_t end) {
  std::int64_t i = at.i, p = at.p + at.kc;
  if (p == end && i + at.mc < g.m) {
    i += at.mc;
    p = start;
  } else if (p == end) {
    i = 0;
  }
  constexpr std::int64_t size = sizeof(T);
  const bool far = !has_short_vectors || g.a_row * size >= far_row;
  if (!cut.pack_a || !far || p == g.k) return {};
  const std::int64_t steps =
      divide_up(at.nc, panel<T>) * divide_up(at.mc, cut.mr) * PrefetchAhead::steps(at.kc);
  return PrefetchAhead::matrix(g.a.plain() + i * g.a_row + p * g.a_col, size,
                               min_of(cut.mc, g.m - i), min_of(cut.kc, g.k - p), g.a_row, g.a_col,
                               steps);
}

template <class T>
void run_blocks(const GemmCall<T>& g, const GemmBlocking& cut, void* scratch) {
  constexpr std::int64_t nr = panel<T>;
  T* const b_panels = static_cast<T*>(scratch);
  T* const a_panels = b_panels + b_elements(g, cut);
  // All rows at once: a panel of B is not wanted again.
  const bool once = g.m <= cut.mc;
  const std::int64_t block_cols = once && g.k <= cut.kc ? g.n : block_n;
  const std::int64_t packed_k = cut.kc > max_k ? cut.kc : max_k / cut.kc * cut.kc;
  for (std::int64_t j = 0; j < g.n; j += block_cols) {
    const std::int64_t nc = min_of(block_cols, g.n - j);
    const std::int64_t width = divide_up(nc, nr) * nr;
    for (std::int64_t start = 0; start < g.k; start += packed_k) {
      const std::int64_t end = min_of(g.k, start + packed_k);
      for (std::int64_t i = 0; i < g.m; i += cut.mc) {
        const std::int64_t mc = min_of(cut.mc, g.m - i);
        for (std::int64_t p = start; p < end; p += cut.kc) {
          const std::int64_t kc = min_of(cut.kc, end - p);
          if (cut.pack_a) pack_a_block(a_panels, g, i, mc, cut.mr, p, kc);
          T* const panels = once ? b_panels : b_panels + (p - start) * width;
          const GemmBlock at{i, mc, j, nc, p, kc, once ? 0 : kc, cut.pack_b && i == 0};
          NextFactors ahead{next_of_a(g, cut, at, start, end), {}};
          if (const std::int64_t together = panels_together(g, cut, at); together > 1) {
            run_panels_together(g, cut, panels, a_panels, at, together, ahead);
          } else {
            run_block(g, cut, panels, a_panels, at, ahead);
          }
        }
      }
    }
  }
}

// GemmPath::transposed. The products of C^T need no scratch: A^T is packed here, and B is read in
// place.
template <class T>
void run_transposed(const GemmCall<T>& g, void* scratch) {
  T* const panels = static_cast<T*>(scratch);
  T* const block = panels + a_panels_elements(g);
  GemmCall<T> t = transposed_call(g);
  pack_whole_b(t, panels);
  t.b = panels;
  t.b_packed = true;
  t.c = block;
  const T* const addend = g.addend ? g.addend : g.c.plain();
  for (std::int64_t j = 0; j < g.n; j += transposed_n) {
    t.m = min_of(transposed_n, g.n - j);
    t.a = g.b + j * g.b_col;
    t.row_bias = g.col_bias ? g.col_bias + j : nullptr;
    if (g.beta != 0) transpose_block(block, t.ldc, addend + j, g.ldc, g.m, t.m);
    run_blocks(t, cut_of(t), nullptr);
    transpose_block(g.c.plain() + j, g.ldc, block, t.ldc, t.m, g.m);
    t.next = {};
  }
}

template <class T>
void run_blocking(const GemmCall<T>& g, const GemmBlocking& chosen, void* scratch) {
  if (chosen.path == GemmPath::no_product || g.alpha == 0) return run_without_product(g);
  if (chosen.path == GemmPath::blocked) return run_blocks(g, chosen, scratch);
  if (chosen.path == GemmPath::transposed) {
    // Biases of both kinds are added in one order.
    return g.col_bias && g.row_bias ? run_blocks(g, chosen, scratch) : run_transposed(g, scratch);
  }
  run_few_rows(g);
}

template <class T>
void run(const GemmCall<T>& g, void* scratch) {
  run_blocking(g, blocking(g), scratch);
}

}  // namespace

constinit const GemmKernels<float> gemm_f32 = {.nr = panel<float>,
                                               .blocking = &blocking<float>,
                                               .scratch_bytes = &scratch_bytes<float>,
                                               .run = &run<float>,
                                               .run_blocking = &run_blocking<float>,
                                               .pack_b = &pack_whole_b<float>,
                                               .whole_block_k = &whole_block_k<float>,
                                               .widens_b = &widens_b<float>};
constinit const GemmKernels<double> gemm_f64 = {.nr = panel<double>,
                                                .blocking = &blocking<double>,
                                                .scratch_bytes = &scratch_bytes<double>,
                                                .run = &run<double>,
                                                .run_blocking = &run_blocking<double>,
                                                .pack_b = &pack_whole_b<double>,
                                                .whole_block_k = &whole_block_k<double>};

}  // namespace ondine::math::ONDINE_ISA
