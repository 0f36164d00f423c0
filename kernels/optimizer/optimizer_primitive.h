// One step of an optimizer over the n elements of a variable, in one pass. Every output may be its
// input. The formulas are those of ai.onnx.preview.training; `rate` is the learning rate already
// adjusted for the iteration.
#pragma once

#include <cstdint>

#include "core/parallel.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/optimizer/optimizer_table.h"

namespace ondine::math {

template <class T>
void sgd(ThreadPool& pool, const Sgd<T>& options, std::int64_t n, const T* x, const T* g, T* x_new,
         const SimdTables& kernels = math::simd_tables());

template <class T>
void thin_sgd_update(ThreadPool& pool, const ThinSgdUpdate<T>& options, const T* w, const T* a,
                     const T* b, T* w_new, const SimdTables& kernels = math::simd_tables());

template <class T>
void momentum(ThreadPool& pool, const Momentum<T>& options, std::int64_t n, const T* x, const T* g,
              const T* v, T* x_new, T* v_new, const SimdTables& kernels = math::simd_tables());

template <class T>
void adagrad(ThreadPool& pool, const Adagrad<T>& options, std::int64_t n, const T* x, const T* g,
             const T* h, T* x_new, T* h_new, const SimdTables& kernels = math::simd_tables());

template <class T>
void adam(ThreadPool& pool, const Adam<T>& options, std::int64_t n, const T* x, const T* g,
          const T* v, const T* h, T* x_new, T* v_new, T* h_new,
          const SimdTables& kernels = math::simd_tables());

}  // namespace ondine::math
