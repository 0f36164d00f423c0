#include "kernels/norm/batch_norm_primitive.h"

#include <algorithm>

#include "kernels/elementwise/vector.h"
#include "kernels/norm/normalized_rows.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T, class X>
class BatchNorm : public Implementation<BatchNormArgs<T>> {
 public:
  BatchNorm(const BatchNormDesc& desc, const SimdTables& kernels)
      : shape_(desc.shape),
        rows_(desc, kernels),
        constant_statistics_(desc.pass == BatchNormPass::backward_constant_statistics),
        set_(tables_of<T>(kernels)),
        norm_(norm_kernels<T, X>(kernels)) {}

 protected:
  template <class Channel>
  void for_channels(ThreadPool& pool, Channel&& channel) const {
    const Index elements = std::max<Index>(1, shape_.batch * shape_.spatial);
    const Index grain = std::max<Index>(1, elementwise_grain / elements);
    pool.for_chunks(shape_.channels, grain, [&](Index first, Index last) {
      for (Index c = first; c < last; ++c) channel(c);
    });
  }
  // Goes backwards: the images that were read last are still in a cache.
  template <class Image>
  void for_images_back(Image&& image) const {
    for (Index n = shape_.batch - 1; n >= 0; --n) image(n);
  }
  // Offset of the elements of channel c in sample n.
  Index offset(Index n, Index c) const { return (n * shape_.channels + c) * shape_.spatial; }
  double count() const { return static_cast<double>(shape_.batch * shape_.spatial); }
  void normalize_channel(Index c, T mean, T variance, const BatchNormArgs<T>& args) const {
    const NormRow<T> row = rows_.row(mean, variance, args.scale[c], args.bias[c]);
    for_images_back([&](Index n) {
      const Index at = offset(n, c);
      rows_.normalize(row, args.y + at, elements_of<X>(args.x) + at,
                      args.addend ? args.addend + at : nullptr,
                      args.bf16_x ? args.bf16_x + at : nullptr, shape_.spatial);
    });
  }

  ChannelShape shape_;
  NormalizedRows<T, X> rows_;
  bool constant_statistics_;
  const SimdTablesOf<T>& set_;
  NormKernels<T, X> norm_;
};

template <class T, class X>
class Inference final : public BatchNorm<T, X> {
 public:
  using BatchNorm<T, X>::BatchNorm;
  void run(ThreadPool& pool, const BatchNormArgs<T>& args) const override {
    this->for_channels(
        pool, [&](Index c) { this->normalize_channel(c, args.mean[c], args.variance[c], args); });
  }
};

// A channel is normalized while it may still be in a cache.
template <class T, class X, bool Columns>
class Training final : public BatchNorm<T, X> {
 public:
  using BatchNorm<T, X>::BatchNorm;
  void run(ThreadPool& pool, const BatchNormArgs<T>& args) const override {
    this->for_channels(pool, [&](Index c) {
      if constexpr (Columns) {
        column_statistics(c, args);
      } else {
        plane_statistics(c, args);
      }
      this->normalize_channel(c, args.batch_mean[c], args.batch_variance[c], args);
    });
  }

 private:
  void column_statistics(Index c, const BatchNormArgs<T>& args) const {
    const auto [batch, channels, spatial] = this->shape_;
    const auto elements = static_cast<double>(batch);
    const auto element = [&, x = elements_of<X>(args.x)](Index n) {
      return static_cast<double>(widened(x[n * channels + c]));
    };
    double sum = 0;
    for (Index n = 0; n < batch; ++n) sum += element(n);
    double squares = 0;
    for (Index n = 0; n < batch; ++n) {
      const double d = element(n) - sum / elements;
      squares += d * d;
    }
    args.batch_mean[c] = static_cast<T>(sum / elements);
    args.batch_variance[c] = static_cast<T>(squares / elements);
  }
  void plane_statistics(Index c, const BatchNormArgs<T>& args) const {
    const auto [batch, channels, spatial] = this->shape_;
    this->rows_.statistics(elements_of<X>(args.x) + c * spatial, batch, channels * spatial, spatial,
                           args.batch_mean + c, args.batch_variance + c);
  }
};

template <class T, class X, bool Masked>
class Backward final : public BatchNorm<T, X> {
 public:
  using BatchNorm<T, X>::BatchNorm;
  void run(ThreadPool& pool, const BatchNormArgs<T>& args) const override {
    this->for_channels(pool, [&](Index c) { differentiate(c, args); });
  }

 private:
  void differentiate(Index c, const BatchNormArgs<T>& args) const {
    const double inverse = this->rows_.inverse_deviation(args.variance[c]);
    const double a = inverse * static_cast<double>(args.scale[c]);
    const NormRow<T> row = this->rows_.row(args.mean[c], args.variance[c], args.scale[c],
                                           Masked ? args.bias[c] : T{0});
    double total = 0;
    double product = 0;  // sum of dy (x - mean)
    const bool sums = args.dscale || args.dbias || !this->constant_statistics_;
    // Sums leave dv in the place of dx, unless x is there.
    T* const dv = sums && args.dx != args.x.memory() ? args.dx : nullptr;
    for (Index n = 0; sums && n < this->shape_.batch; ++n) {
      add_sums(row, this->offset(n, c), dv, args, &total, &product);
    }
    if (args.dscale) args.dscale[c] = static_cast<T>(product * inverse);
    if (args.dbias) args.dbias[c] = static_cast<T>(total);
    if (!args.dx) return;
    const double count = this->count();
    const auto by_x = static_cast<T>(-a * product * inverse * inverse / count);
    const auto shift = static_cast<T>(-a * total / count);
    this->for_images_back(
        [&](Index n) { write_dx(row, this->offset(n, c), dv != nullptr, by_x, shift, args); });
  }

  void add_sums(const NormRow<T>& row, Index at, T* dv, const BatchNormArgs<T>& args, double* total,
                double* product) const {
    const Index n = this->shape_.spatial;
    const X* const x = elements_of<X>(args.x) + at;
    if constexpr (Masked) {
      this->rows_.add_sums(row, dv ? dv + at : nullptr, args.dy + at, x, n, total, product);
    } else {
      this->norm_.batch_norm->sums(args.dy + at, x, row.mean, n, total, product);
    }
  }

  void write_dx(const NormRow<T>& row, Index at, bool has_dv, T by_x, T shift,
                const BatchNormArgs<T>& args) const {
    const Index n = this->shape_.spatial;
    T* const dx = args.dx + at;
    const X* const x = elements_of<X>(args.x) + at;
    const bool from_dx = has_dv && !this->rows_.has_bounds();
    const T* const dy = Masked && from_dx ? dx : args.dy + at;
    if (Masked && this->constant_statistics_) {
      this->rows_.write_scaled(row, dx, dy, from_dx, x, n);
    } else if (Masked) {
      this->rows_.write_gradient(row, dx, dy, from_dx, x, by_x, shift, n);
    } else if (this->constant_statistics_) {
      this->set_.vector->scale(dx, dy, row.a, n);
    } else {
      this->norm_.layer_norm->norm_gradient(dx, dy, x, row.mean, row.a, by_x, shift, n);
    }
  }
};

bool is_backward(const BatchNormDesc& desc) {
  return desc.pass == BatchNormPass::backward ||
         desc.pass == BatchNormPass::backward_constant_statistics;
}
bool supports_columns(const BatchNormDesc& desc, const SimdTables&) {
  return desc.pass == BatchNormPass::training && desc.shape.spatial == 1;
}
bool supports_masked_planes(const BatchNormDesc& desc, const SimdTables&) {
  return is_backward(desc) && desc.masked;
}
bool supports_planes(const BatchNormDesc& desc, const SimdTables&) {
  return !is_backward(desc) || !desc.masked;
}

template <class T>
using Made = std::unique_ptr<const Implementation<BatchNormArgs<T>>>;

template <class T>
Made<T> make_columns(const BatchNormDesc& desc, const SimdTables& kernels) {
  return visit_elements<T>(desc.x_stored, [&]<class X>() -> Made<T> {
    return std::make_unique<const Training<T, X, true>>(desc, kernels);
  });
}
template <class T>
Made<T> make_masked_planes(const BatchNormDesc& desc, const SimdTables& kernels) {
  return visit_elements<T>(desc.x_stored, [&]<class X>() -> Made<T> {
    return std::make_unique<const Backward<T, X, true>>(desc, kernels);
  });
}
template <class T>
Made<T> make_planes(const BatchNormDesc& desc, const SimdTables& kernels) {
  return visit_elements<T>(desc.x_stored, [&]<class X>() -> Made<T> {
    if (is_backward(desc)) return std::make_unique<const Backward<T, X, false>>(desc, kernels);
    if (desc.pass == BatchNormPass::training) {
      return std::make_unique<const Training<T, X, false>>(desc, kernels);
    }
    return std::make_unique<const Inference<T, X>>(desc, kernels);
  });
}

template <class T>
constexpr typename BatchNormPrimitive<T>::Entry list[] = {
    {"columns", &supports_columns, &make_columns<T>},
    {"masked_planes", &supports_masked_planes, &make_masked_planes<T>},
    {"planes", &supports_planes, &make_planes<T>},
};

}  // namespace

template <class T>
BatchNormPrimitive<T>::BatchNormPrimitive(const BatchNormDesc& desc, const SimdTables& kernels)
    : Primitive<BatchNormDesc, BatchNormArgs<T>>(list<T>, desc, kernels) {}
template <class T>
BatchNormPrimitive<T>::BatchNormPrimitive(const BatchNormDesc& desc, std::string_view name,
                                          const SimdTables& kernels)
    : Primitive<BatchNormDesc, BatchNormArgs<T>>(list<T>, name, desc, kernels) {}

template class BatchNormPrimitive<float>;
template class BatchNormPrimitive<double>;

}  // namespace ondine::math
