// The rows of a channel that is normalized by the statistics of a batch: what batch normalization
// and the convolutions that take it share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/norm/bf16_elements.h"
#include "kernels/simd/norm/batch_norm_table.h"
#include "kernels/simd/norm/layer_norm_table.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {

// X: the type of the elements of x.
template <class T, class X>
class NormalizedRows {
 public:
  using Index = std::int64_t;

  NormalizedRows(const BatchNormDesc& desc, const SimdTables& kernels)
      : epsilon_(static_cast<double>(static_cast<T>(desc.epsilon))),
        low_(static_cast<T>(desc.low)),
        high_(static_cast<T>(desc.high)),
        activation_(desc.activation),
        alpha_(static_cast<T>(desc.alpha)),
        vector_(*tables_of<T>(kernels).vector),
        batch_norm_(*norm_kernels<T, X>(kernels).batch_norm),
        layer_norm_(*norm_kernels<T, X>(kernels).layer_norm),
        copy_(kernels) {}

  // Of `images` rows of n elements, `next` elements apart. NaN of nothing, as any mean.
  void statistics(const X* x, Index images, Index next, Index n, T* mean, T* variance) const {
    Moments moments;
    for (Index i = 0; i < images; ++i) batch_norm_.moments(x + i * next, n, &moments);
    const auto count = static_cast<double>(images * n);
    *mean = static_cast<T>(count > 0 ? moments.mean : moments.mean / count);
    *variance = static_cast<T>(moments.squares / count);
  }
  // Asks for the beginning of a row.
  static void ask_for(const void* row, Index bytes) {
    constexpr Index line = 64, most = 4096;
    for (Index i = 0; i < std::min(bytes, most); i += line) {
      __builtin_prefetch(static_cast<const std::byte*>(row) + i);
    }
  }
  double inverse_deviation(T variance) const {
    return 1.0 / std::sqrt(static_cast<double>(variance) + epsilon_);
  }
  NormRow<T> row(T mean, T variance, T scale, T bias) const {
    const double a = inverse_deviation(variance) * static_cast<double>(scale);
    return {mean, static_cast<T>(a), bias, low_, high_};
  }
  // y = activation(v + addend); the addend, which only goes with bounds, and the copy of x in
  // bfloat16 may be null.
  void normalize(const NormRow<T>& row, T* y, const X* x, const T* addend, std::uint16_t* copy,
                 Index n) const {
    if (copy) copy_(copy, x, n);
    if (has_bounds()) return batch_norm_.normalize(row, y, x, addend, n);
    normalize_smooth(row, y, nullptr, x, n);
  }
  // y and the slope of the activation, which has no bounds; both may be null.
  void normalize_smooth(const NormRow<T>& row, T* y, T* slope, const X* x, Index n) const {
    if (activation_ == Activation::swish) {
      batch_norm_.swish(row, alpha_, y, slope, x, n);
    } else {
      batch_norm_.hard_swish(row, y, slope, x, n);
    }
  }

  // The derivative, with dv = what dy says of v: dy within the bounds, or dy times the slope of the
  // activation. Adds sum dv and sum dv (x - mean). Unless there are bounds, writes dv, which may be
  // dy, or null.
  void add_sums(const NormRow<T>& row, T* dv, const T* dy, const X* x, Index n, double* total,
                double* product) const {
    if (has_bounds()) return batch_norm_.masked_sums(row, dy, x, n, total, product);
    for_chunks(n, [&](Index i, Index m, T* slope) {
      normalize_smooth(row, nullptr, slope, x + i, m);
      T* const to = dv ? dv + i : slope;
      vector_.mul.vv(to, dy + i, slope, m);
      batch_norm_.sums(to, x + i, row.mean, m, total, product);
    });
  }
  // add_sums with known slopes: `dv` holds dy and becomes dv.
  void add_sums_by_slope(const NormRow<T>& row, T* dv, const T* slope, const X* x, Index n,
                         double* total, double* product) const {
    for_chunks(n, [&](Index i, Index m, T*) {
      vector_.mul.vv(dv + i, dv + i, slope + i, m);
      batch_norm_.sums(dv + i, x + i, row.mean, m, total, product);
    });
  }
  // dx = a dv + by_x (x - mean) + shift. `dy` is dv where add_sums has written that. dx may be dy,
  // or x.
  void write_gradient(const NormRow<T>& row, T* dx, const T* dy, bool has_dv, const X* x, T by_x,
                      T shift, Index n) const {
    if (has_bounds()) return batch_norm_.masked_gradient(row, dx, dy, x, by_x, shift, n);
    if (has_dv) return layer_norm_.norm_gradient(dx, dy, x, row.mean, row.a, by_x, shift, n);
    for_chunks(n, [&](Index i, Index m, T* dv) {
      differentiate(row, dv, dy + i, x + i, m);
      layer_norm_.norm_gradient(dx + i, dv, x + i, row.mean, row.a, by_x, shift, m);
    });
  }
  // dx = a dv. `dy` as before.
  void write_scaled(const NormRow<T>& row, T* dx, const T* dy, bool has_dv, const X* x,
                    Index n) const {
    if (has_bounds()) return batch_norm_.masked_scale(row, dx, dy, x, n);
    if (has_dv) return vector_.scale(dx, dy, row.a, n);
    for_chunks(n, [&](Index i, Index m, T* dv) {
      differentiate(row, dv, dy + i, x + i, m);
      vector_.scale(dx + i, dv, row.a, m);
    });
  }
  bool has_bounds() const { return activation_ == Activation::bounds; }

 private:
  // body(first, count, buffer) for elements that stay in a first cache from step to step.
  template <class Body>
  static void for_chunks(Index n, Body&& body) {
    constexpr Index chunk = 1024;
    alignas(64) T buffer[chunk];
    for (Index i = 0; i < n; i += chunk) body(i, std::min(chunk, n - i), buffer);
  }
  void differentiate(const NormRow<T>& row, T* dv, const T* dy, const X* x, Index n) const {
    normalize_smooth(row, nullptr, dv, x, n);
    vector_.mul.vv(dv, dy, dv, n);
  }

  double epsilon_;
  T low_, high_;
  Activation activation_;
  T alpha_;
  const VectorKernels<T>& vector_;
  const BatchNormKernels<T, X>& batch_norm_;
  const LayerNormKernels<T, X>& layer_norm_;
  Bf16Copy copy_;
};

}  // namespace ondine::math
