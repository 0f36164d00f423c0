// Softmax over the rows of a dense matrix; dst may be src.
#pragma once

#include <cstdint>

#include "core/parallel.h"
#include "kernels/simd/isa.h"

namespace ondine::math {

// y = exp(x - max x) / sum exp(x - max x)
template <class T>
void softmax(ThreadPool& pool, T* y, const T* x, std::int64_t rows, std::int64_t length,
             const Kernels& kernels = math::kernels());

// y = x - log sum exp x
template <class T>
void log_softmax(ThreadPool& pool, T* y, const T* x, std::int64_t rows, std::int64_t length,
                 const Kernels& kernels = math::kernels());

// dx = y (dy - sum dy y); dx may be dy or y.
template <class T>
void softmax_gradient(ThreadPool& pool, T* dx, const T* dy, const T* y, std::int64_t rows,
                      std::int64_t length, const Kernels& kernels = math::kernels());

// dx = dy - exp(y) sum dy
template <class T>
void log_softmax_gradient(ThreadPool& pool, T* dx, const T* dy, const T* y, std::int64_t rows,
                          std::int64_t length, const Kernels& kernels = math::kernels());

}  // namespace ondine::math
