#include "kernels/matmul/packed_gemm.h"

#include <algorithm>

#include "core/checked.h"
#include "kernels/common/rounding.h"
#include "kernels/common/stored_elements.h"
#include "kernels/matmul/gemm_call.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

template <class T>
GemmCall<T> call_of(const GemmShape& s, const GemmOptions<T>& o) {
  GemmCall<T> call = call_without_b(s, o);
  call.a = Elements<const T>(s.a_stored);
  call.b_packed = true;
  call.b_row = s.n;
  call.b_col = 1;
  // A single row has any stride.
  if (call.a_row != 1 && call.a_col != 1) (call.k == 1 ? call.a_col : call.a_row) = 1;
  return call;
}

// Call that describes a B that is to be packed.
template <class T>
GemmCall<T> source_of(const GemmShape& s, Elements<const T> b) {
  GemmCall<T> call{};
  call.n = s.n;
  call.k = s.k;
  call.b = b;
  const std::int64_t ldb = s.ldb ? s.ldb : s.trans_b ? s.k : s.n;
  call.b_row = s.trans_b ? 1 : ldb;
  call.b_col = s.trans_b ? ldb : 1;
  if (call.b_row != 1 && call.b_col != 1) call.b_col = 1;  // one column
  return call;
}

}  // namespace

template <class T>
std::int64_t packed_elements(std::int64_t n, std::int64_t k, const SimdTables& kernels) {
  constexpr std::int64_t padding = 64;  // the last store of a panel may spill over
  const GemmKernels<T>& gemm = *tables_of<T>(kernels).gemm;
  const std::int64_t columns = checked_add(n, gemm.nr - 1) / gemm.nr * gemm.nr;
  return checked_add(checked_mul(columns, divide_up(k, gemm.terms_in_packed)), padding);
}

template <class T>
void pack(const GemmShape& s, ElementsIn<T> b, T* packed, const SimdTables& kernels) {
  tables_of<T>(kernels).gemm->pack_b(source_of<T>(s, b), packed);
}

template <class T>
void pack(ThreadPool& pool, const GemmShape& s, ElementsIn<T> b, T* packed,
          const SimdTables& kernels) {
  const GemmKernels<T>& gemm = *tables_of<T>(kernels).gemm;
  const GemmCall<T> whole = source_of<T>(s, b);
  const std::int64_t rows = divide_up(s.k, gemm.terms_in_packed);
  const std::int64_t panels = divide_up(s.n, gemm.nr);
  // Panels are whole vectors, so that chunks write nothing of each other.
  pool.for_chunks(panels, divide_up(panels, pool.threads()), [&](auto first, auto last) {
    GemmCall<T> part = whole;
    const std::int64_t j = first * gemm.nr;
    part.n = std::min(s.n, last * gemm.nr) - j;
    part.b += j * whole.b_col;
    gemm.pack_b(part, packed + j * rows);
  });
}

template <class T>
void pack_terms(const GemmShape& s, ElementsIn<T> b, std::int64_t first, std::int64_t terms,
                T* packed, const SimdTables& kernels) {
  const GemmKernels<T>& gemm = *tables_of<T>(kernels).gemm;
  GemmCall<T> call = source_of<T>(s, b);
  call.packed_k = terms;
  gemm.pack_b(call, packed + first / gemm.terms_in_packed * gemm.nr);
}

template <class T>
std::size_t packed_gemm_scratch(const GemmShape& shape, const SimdTables& kernels) {
  return bytes_of<std::byte>(tables_of<T>(kernels).gemm->scratch_bytes(call_of<T>(shape, {})));
}

template <class T>
void packed_gemm(const GemmShape& shape, ElementsIn<T> a, const T* packed, T* c,
                 const GemmOptions<T>& options, void* scratch, const SimdTables& kernels) {
  require_stored(a, shape.a_stored);
  auto call = call_of(shape, options);
  call.a = a;
  call.b = packed;
  call.c = c;
  tables_of<T>(kernels).gemm->run(call, scratch);
}

#define ONDINE_INSTANTIATE(T)                                                                  \
  template std::int64_t packed_elements<T>(std::int64_t, std::int64_t, const SimdTables&);     \
  template void pack<T>(const GemmShape&, ElementsIn<T>, T*, const SimdTables&);               \
  template void pack<T>(ThreadPool&, const GemmShape&, ElementsIn<T>, T*, const SimdTables&);  \
  template void pack_terms<T>(const GemmShape&, ElementsIn<T>, std::int64_t, std::int64_t, T*, \
                              const SimdTables&);                                              \
  template std::size_t packed_gemm_scratch<T>(const GemmShape&, const SimdTables&);            \
  template void packed_gemm<T>(const GemmShape&, ElementsIn<T>, const T*, T*,                  \
                               const GemmOptions<T>&, void*, const SimdTables&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
