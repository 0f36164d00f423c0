// Functions on rows of contiguous elements, on one thread (vector_kernels) or all of them.
#pragma once

#include <cstdint>

#include "core/parallel.h"
#include "kernels/common/grain.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {

template <class T>
const VectorKernels<T>& vector_kernels(const SimdTables& kernels = math::simd_tables()) noexcept;

// Row functions run over all threads.
template <class T>
void apply(ThreadPool& pool, typename VectorKernels<T>::Unary function, T* dst, const T* src,
           std::int64_t n);
template <class T>
void column_sums(ThreadPool& pool, T* dst, const T* src, std::int64_t rows, std::int64_t cols,
                 std::int64_t ld, const SimdTables& kernels = math::simd_tables());

}  // namespace ondine::math
