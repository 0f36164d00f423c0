// Normalisation. float and double; results are the same for any number of threads.
#pragma once

#include <cstdint>
#include <limits>

#include "core/parallel.h"
#include "kernels/simd/isa.h"

namespace ondine::math {

// x is [batch, channels, spatial].
struct ChannelShape {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t spatial = 1;
};

// Mean and variance (divided by the count) of each channel, as exact as in two passes.
template <class T>
void channel_statistics(ThreadPool& pool, const ChannelShape& shape, const T* x, T* mean,
                        T* variance, const Kernels& kernels = math::kernels());

// What is done to a normalized v: min(max(v + addend, low), high), NaN staying NaN. The addend, of
// x's shape, may be null.
template <class T>
struct NormEpilogue {
  T low = -std::numeric_limits<T>::infinity();
  T high = std::numeric_limits<T>::infinity();
  const T* addend = nullptr;
};

// y = (x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c], then `after`; y may be x or
// the addend.
template <class T>
void batch_norm(ThreadPool& pool, const ChannelShape& shape, const T* x, const T* mean,
                const T* variance, const T* scale, const T* bias, T epsilon,
                const NormEpilogue<T>& after, T* y, const Kernels& kernels = math::kernels());

// Both at once: statistics, then y, while a channel may still be in a cache.
template <class T>
void batch_norm_training(ThreadPool& pool, const ChannelShape& shape, const T* x, const T* scale,
                         const T* bias, T epsilon, const NormEpilogue<T>& after, T* mean,
                         T* variance, T* y, const Kernels& kernels = math::kernels());

// Where a derivative counts: low <= v <= high for the normalized v, which is computed again.
// Without bias everywhere.
template <class T>
struct NormMask {
  const T* bias = nullptr;
  T low = -std::numeric_limits<T>::infinity();
  T high = std::numeric_limits<T>::infinity();
};

// With s = sum dy, p = sum dy xhat of each channel (xhat = (x - mean) / sqrt(variance + epsilon)):
// dbias = s, dscale = p; dx = scale / sqrt(variance + epsilon) (dy - s / count - xhat p / count),
// or, when the statistics are constants, scale / sqrt(variance + epsilon) dy.
// dy counts as 0 outside of the mask. Null outputs are left out; dx may be dy or x.
template <class T>
void batch_norm_gradient(ThreadPool& pool, const ChannelShape& shape, const T* dy, const T* x,
                         const T* mean, const T* variance, const T* scale, T epsilon,
                         bool constant_statistics, const NormMask<T>& mask, T* dx, T* dscale,
                         T* dbias, const Kernels& kernels = math::kernels());

// Rows of `length`: y = (x - mean) inv_std scale + bias, inv_std = 1 / sqrt(variance + epsilon).
// scale and bias are rows or null; mean and inv_std (one value a row) are saved unless null.
template <class T>
void layer_norm(ThreadPool& pool, std::int64_t rows, std::int64_t length, const T* x,
                const T* scale, const T* bias, T epsilon, T* y, T* mean, T* inv_std,
                const Kernels& kernels = math::kernels());

// Null outputs are left out; scale may be null. dx may be dy only if dscale and dbias are null.
template <class T>
void layer_norm_gradient(ThreadPool& pool, std::int64_t rows, std::int64_t length, const T* dy,
                         const T* x, const T* mean, const T* inv_std, const T* scale, T* dx,
                         T* dscale, T* dbias, const Kernels& kernels = math::kernels());

}  // namespace ondine::math
