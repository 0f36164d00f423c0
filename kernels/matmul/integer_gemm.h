// Matrix products of integers, which wrap around.
#pragma once

#include "core/parallel.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::math {

// C = op(A) op(B), all three dense, on the threads of the pool. T: 32- and 64-bit integers.
template <class T>
void integer_gemm(ThreadPool& pool, const GemmShape& shape, const T* a, const T* b, T* c);

}  // namespace ondine::math
