// Products with a matrix B that is used many times: packed once in the layout that the register
// blocks read. They run on the calling thread. float and double; factors may be bfloat16 where
// GemmPrimitive::takes_bf16.
#pragma once

#include "kernels/matmul/gemm_primitive.h"

namespace ondine::math {

// Elements of the packed k x n matrix op(B).
template <class T>
std::int64_t packed_elements(std::int64_t n, std::int64_t k,
                             const SimdTables& kernels = math::simd_tables());

// Of `shape`, n, k, trans_b and ldb are read.
template <class T>
void pack(const GemmShape& shape, ElementsIn<T> b, T* packed,
          const SimdTables& kernels = math::simd_tables());
// pack() by all threads.
template <class T>
void pack(ThreadPool& pool, const GemmShape& shape, ElementsIn<T> b, T* packed,
          const SimdTables& kernels = math::simd_tables());

// Some of its terms: the rows [first, first + k) of all `terms`, one after the other at b, of which
// shape.n and k are read. `first` is even. Writes nothing of other terms.
template <class T>
void pack_terms(const GemmShape& shape, ElementsIn<T> b, std::int64_t first, std::int64_t terms,
                T* packed, const SimdTables& kernels = math::simd_tables());

// Bytes of scratch memory of one product of up to shape.m rows.
template <class T>
std::size_t packed_gemm_scratch(const GemmShape& shape,
                                const SimdTables& kernels = math::simd_tables());

// As gemm, with B packed; trans_b, ldb and b_stored are not read. Error(internal) for a that is
// stored in another way than the shape says.
template <class T>
void packed_gemm(const GemmShape& shape, ElementsIn<T> a, const T* packed, T* c,
                 const GemmOptions<T>& options, void* scratch,
                 const SimdTables& kernels = math::simd_tables());

}  // namespace ondine::math
