#include "kernels/norm/norm_primitive.h"

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/vector.h"
#include "kernels/simd/norm/batch_norm_table.h"
#include "kernels/simd/norm/layer_norm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class Channel>
void for_channels(ThreadPool& pool, const ChannelShape& s, Channel&& channel) {
  const Index elements = std::max<Index>(1, s.batch * s.spatial);
  const Index grain = std::max<Index>(1, elementwise_grain / elements);
  pool.for_chunks(s.channels, grain, [&](Index first, Index last) {
    for (Index c = first; c < last; ++c) channel(c);
  });
}

template <class T>
double inverse_deviation(T variance, T epsilon) {
  return 1.0 / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon));
}

template <class T>
void statistics(const ChannelShape& s, Index c, const T* x, T* mean, T* variance,
                const Kernels& kernels) {
  if (s.spatial == 1) {
    const auto elements = static_cast<double>(s.batch);
    double sum = 0;
    for (Index n = 0; n < s.batch; ++n) sum += static_cast<double>(x[n * s.channels + c]);
    double squares = 0;
    for (Index n = 0; n < s.batch; ++n) {
      const double d = static_cast<double>(x[n * s.channels + c]) - sum / elements;
      squares += d * d;
    }
    mean[c] = static_cast<T>(sum / elements);
    variance[c] = static_cast<T>(squares / elements);
    return;
  }
  const auto join = kernel_set<T>(kernels).batch_norm->moments;
  Moments moments;
  for (Index n = 0; n < s.batch; ++n) {
    join(x + (n * s.channels + c) * s.spatial, s.spatial, &moments);
  }
  // Of nothing: NaN, as any mean.
  const auto count = static_cast<double>(s.batch * s.spatial);
  mean[c] = static_cast<T>(count > 0 ? moments.mean : moments.mean / count);
  variance[c] = static_cast<T>(moments.squares / count);
}

template <class T>
NormRow<T> norm_row(T mean, T variance, T scale, T bias, T epsilon, T low, T high) {
  const double a = inverse_deviation(variance, epsilon) * static_cast<double>(scale);
  return {mean, static_cast<T>(a), bias, low, high};
}

template <class T>
void normalize_channel(const ChannelShape& s, Index c, const NormRow<T>& row, const T* x,
                       const T* addend, T* y, const Kernels& kernels) {
  const auto normalize = kernel_set<T>(kernels).batch_norm->normalize;
  for (Index n = 0; n < s.batch; ++n) {
    const Index at = (n * s.channels + c) * s.spatial;
    normalize(row, y + at, x + at, addend ? addend + at : nullptr, s.spatial);
  }
}

}  // namespace

template <class T>
void channel_statistics(ThreadPool& pool, const ChannelShape& s, const T* x, T* mean, T* variance,
                        const Kernels& kernels) {
  for_channels(pool, s, [&](Index c) { statistics(s, c, x, mean, variance, kernels); });
}

template <class T>
void batch_norm(ThreadPool& pool, const ChannelShape& s, const T* x, const T* mean,
                const T* variance, const T* scale, const T* bias, T epsilon,
                const NormEpilogue<T>& after, T* y, const Kernels& kernels) {
  for_channels(pool, s, [&](Index c) {
    const auto row =
        norm_row(mean[c], variance[c], scale[c], bias[c], epsilon, after.low, after.high);
    normalize_channel(s, c, row, x, after.addend, y, kernels);
  });
}

template <class T>
void batch_norm_training(ThreadPool& pool, const ChannelShape& s, const T* x, const T* scale,
                         const T* bias, T epsilon, const NormEpilogue<T>& after, T* mean,
                         T* variance, T* y, const Kernels& kernels) {
  for_channels(pool, s, [&](Index c) {
    statistics(s, c, x, mean, variance, kernels);
    const auto row =
        norm_row(mean[c], variance[c], scale[c], bias[c], epsilon, after.low, after.high);
    normalize_channel(s, c, row, x, after.addend, y, kernels);
  });
}

template <class T>
void batch_norm_gradient(ThreadPool& pool, const ChannelShape& s, const T* dy, const T* x,
                         const T* mean, const T* variance, const T* scale, T epsilon,
                         bool constant_statistics, const NormMask<T>& mask, T* dx, T* dscale,
                         T* dbias, const Kernels& kernels) {
  const auto& channels = *kernel_set<T>(kernels).batch_norm;
  const auto& vector = vector_kernels<T>(kernels);
  const auto& rows = *kernel_set<T>(kernels).layer_norm;
  const auto count = static_cast<double>(s.batch * s.spatial);
  const bool sums = dscale || dbias || !constant_statistics;
  for_channels(pool, s, [&](Index c) {
    const double inverse = inverse_deviation(variance[c], epsilon);
    const double a = inverse * static_cast<double>(scale[c]);
    const NormRow<T> row{mean[c], static_cast<T>(a), mask.bias ? mask.bias[c] : T{0}, mask.low,
                         mask.high};
    double total = 0;
    double product = 0;  // sum of dy (x - mean)
    for (Index n = 0; sums && n < s.batch; ++n) {
      const Index at = (n * s.channels + c) * s.spatial;
      if (mask.bias) {
        channels.masked_sums(row, dy + at, x + at, s.spatial, &total, &product);
      } else {
        channels.sums(dy + at, x + at, row.mean, s.spatial, &total, &product);
      }
    }
    if (dscale) dscale[c] = static_cast<T>(product * inverse);
    if (dbias) dbias[c] = static_cast<T>(total);
    if (!dx) return;
    const auto by_x = static_cast<T>(-a * product * inverse * inverse / count);
    const auto shift = static_cast<T>(-a * total / count);
    for (Index n = 0; n < s.batch; ++n) {
      const Index at = (n * s.channels + c) * s.spatial;
      if (mask.bias && constant_statistics) {
        channels.masked_scale(row, dx + at, dy + at, x + at, s.spatial);
      } else if (mask.bias) {
        channels.masked_gradient(row, dx + at, dy + at, x + at, by_x, shift, s.spatial);
      } else if (constant_statistics) {
        vector.scale(dx + at, dy + at, row.a, s.spatial);
      } else {
        rows.norm_gradient(dx + at, dy + at, x + at, row.mean, row.a, by_x, shift, s.spatial);
      }
    }
  });
}

template <class T>
void layer_norm(ThreadPool& pool, Index rows, Index length, const T* x, const T* scale,
                const T* bias, T epsilon, T* y, T* mean, T* inv_std, const Kernels& kernels) {
  if (length == 0) return;
  const auto& vector = vector_kernels<T>(kernels);
  const auto normalize = kernel_set<T>(kernels).layer_norm->normalize;
  const Index grain = std::max<Index>(1, elementwise_grain / length);
  pool.for_chunks(rows, grain, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const T* const row = x + i * length;
      const T m = vector.sum(row, length) / static_cast<T>(length);
      const T variance = vector.sum_squared_deviation(row, m, length) / static_cast<T>(length);
      const auto inverse = static_cast<T>(inverse_deviation(variance, epsilon));
      normalize(y + i * length, row, m, inverse, scale, bias, length);
      if (mean) mean[i] = m;
      if (inv_std) inv_std[i] = inverse;
    }
  });
}

template <class T>
void layer_norm_gradient(ThreadPool& pool, Index rows, Index length, const T* dy, const T* x,
                         const T* mean, const T* inv_std, const T* scale, T* dx, T* dscale,
                         T* dbias, const Kernels& kernels) {
  if (length == 0) return;
  const auto& set = kernel_set<T>(kernels);
  if (dbias) column_sums(pool, dbias, dy, rows, length, length, kernels);
  if (dscale) {
    // Strips of columns, each over all rows in order; blocks of rows keep the error small.
    const auto normal_sums = set.layer_norm->normal_column_sums;
    constexpr Index strip = 64;
    const Index strips = (length + strip - 1) / strip;
    const Index grain = std::max<Index>(1, elementwise_grain / (strip * (rows + 1)));
    pool.for_chunks(strips, grain, [&](Index first, Index last) {
      const Index from = first * strip;
      normal_sums(dscale + from, dy + from, x + from, mean, inv_std, rows,
                  std::min(length, last * strip) - from, length);
    });
  }
  if (!dx) return;
  const Index grain = std::max<Index>(1, elementwise_grain / length);
  pool.for_chunks(rows, grain, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Index at = i * length;
      T total = 0;
      T product = 0;
      if (scale) {
        set.layer_norm->scaled_norm_sums(dy + at, scale, x + at, mean[i], length, &total, &product);
      } else {
        set.layer_norm->norm_sums(dy + at, x + at, mean[i], length, &total, &product);
      }
      const T a = inv_std[i];
      const T b = -a * a * a * product / static_cast<T>(length);
      const T c = -a * total / static_cast<T>(length);
      if (scale) {
        set.layer_norm->scaled_norm_gradient(dx + at, dy + at, scale, x + at, mean[i], a, b, c,
                                             length);
      } else {
        set.layer_norm->norm_gradient(dx + at, dy + at, x + at, mean[i], a, b, c, length);
      }
    }
  });
}

#define ONDINE_INSTANTIATE(T)                                                                     \
  template void channel_statistics<T>(ThreadPool&, const ChannelShape&, const T*, T*, T*,         \
                                      const Kernels&);                                            \
  template void batch_norm<T>(ThreadPool&, const ChannelShape&, const T*, const T*, const T*,     \
                              const T*, const T*, T, const NormEpilogue<T>&, T*, const Kernels&); \
  template void batch_norm_training<T>(ThreadPool&, const ChannelShape&, const T*, const T*,      \
                                       const T*, T, const NormEpilogue<T>&, T*, T*, T*,           \
                                       const Kernels&);                                           \
  template void batch_norm_gradient<T>(ThreadPool&, const ChannelShape&, const T*, const T*,      \
                                       const T*, const T*, const T*, T, bool, const NormMask<T>&, \
                                       T*, T*, T*, const Kernels&);                               \
  template void layer_norm<T>(ThreadPool&, Index, Index, const T*, const T*, const T*, T, T*, T*, \
                              T*, const Kernels&);                                                \
  template void layer_norm_gradient<T>(ThreadPool&, Index, Index, const T*, const T*, const T*,   \
                                       const T*, const T*, T*, T*, T*, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
