#include "kernels/norm/batch_norm_primitive.h"

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/vector.h"
#include "kernels/simd/norm/batch_norm_table.h"
#include "kernels/simd/norm/layer_norm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class BatchNorm : public Implementation<BatchNormArgs<T>> {
 public:
  BatchNorm(const BatchNormDesc& desc, const Kernels& kernels)
      : shape_(desc.shape),
        epsilon_(static_cast<double>(static_cast<T>(desc.epsilon))),
        low_(static_cast<T>(desc.low)),
        high_(static_cast<T>(desc.high)),
        constant_statistics_(desc.pass == BatchNormPass::backward_constant_statistics),
        set_(kernel_set<T>(kernels)) {}

 protected:
  template <class Channel>
  void for_channels(ThreadPool& pool, Channel&& channel) const {
    const Index elements = std::max<Index>(1, shape_.batch * shape_.spatial);
    const Index grain = std::max<Index>(1, elementwise_grain / elements);
    pool.for_chunks(shape_.channels, grain, [&](Index first, Index last) {
      for (Index c = first; c < last; ++c) channel(c);
    });
  }
  // Those that were read last are still in a cache.
  template <class Image>
  void for_images_back(Image&& image) const {
    for (Index n = shape_.batch - 1; n >= 0; --n) image(n);
  }
  // Offset of the elements of channel c in sample n.
  Index offset(Index n, Index c) const { return (n * shape_.channels + c) * shape_.spatial; }
  double count() const { return static_cast<double>(shape_.batch * shape_.spatial); }
  double inverse_deviation(T variance) const {
    return 1.0 / std::sqrt(static_cast<double>(variance) + epsilon_);
  }
  NormRow<T> norm_row(T mean, double a, T bias) const {
    return {mean, static_cast<T>(a), bias, low_, high_};
  }

  void normalize_channel(Index c, T mean, T variance, const BatchNormArgs<T>& args) const {
    const double a = inverse_deviation(variance) * static_cast<double>(args.scale[c]);
    const NormRow<T> row = norm_row(mean, a, args.bias[c]);
    for_images_back([&](Index n) {
      const Index at = offset(n, c);
      set_.batch_norm->normalize(row, args.y + at, args.x + at,
                                 args.addend ? args.addend + at : nullptr, shape_.spatial);
    });
  }

  ChannelShape shape_;
  double epsilon_;
  T low_, high_;
  bool constant_statistics_;
  const KernelSet<T>& set_;
};

template <class T>
class Inference final : public BatchNorm<T> {
 public:
  using BatchNorm<T>::BatchNorm;
  void run(ThreadPool& pool, const BatchNormArgs<T>& args) const override {
    this->for_channels(
        pool, [&](Index c) { this->normalize_channel(c, args.mean[c], args.variance[c], args); });
  }
};

// A channel is normalized while it may still be in a cache.
template <class T, bool Columns>
class Training final : public BatchNorm<T> {
 public:
  using BatchNorm<T>::BatchNorm;
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
    double sum = 0;
    for (Index n = 0; n < batch; ++n) sum += static_cast<double>(args.x[n * channels + c]);
    double squares = 0;
    for (Index n = 0; n < batch; ++n) {
      const double d = static_cast<double>(args.x[n * channels + c]) - sum / elements;
      squares += d * d;
    }
    args.batch_mean[c] = static_cast<T>(sum / elements);
    args.batch_variance[c] = static_cast<T>(squares / elements);
  }
  void plane_statistics(Index c, const BatchNormArgs<T>& args) const {
    Moments moments;
    for (Index n = 0; n < this->shape_.batch; ++n) {
      this->set_.batch_norm->moments(args.x + this->offset(n, c), this->shape_.spatial, &moments);
    }
    // Of nothing: NaN, as any mean.
    const double count = this->count();
    args.batch_mean[c] = static_cast<T>(count > 0 ? moments.mean : moments.mean / count);
    args.batch_variance[c] = static_cast<T>(moments.squares / count);
  }
};

template <class T, bool Masked>
class Backward final : public BatchNorm<T> {
 public:
  using BatchNorm<T>::BatchNorm;
  void run(ThreadPool& pool, const BatchNormArgs<T>& args) const override {
    this->for_channels(pool, [&](Index c) { differentiate(c, args); });
  }

 private:
  void differentiate(Index c, const BatchNormArgs<T>& args) const {
    const double inverse = this->inverse_deviation(args.variance[c]);
    const double a = inverse * static_cast<double>(args.scale[c]);
    const NormRow<T> row = this->norm_row(args.mean[c], a, Masked ? args.bias[c] : T{0});
    double total = 0;
    double product = 0;  // sum of dy (x - mean)
    if (args.dscale || args.dbias || !this->constant_statistics_) {
      for (Index n = 0; n < this->shape_.batch; ++n) {
        add_sums(row, this->offset(n, c), args, &total, &product);
      }
    }
    if (args.dscale) args.dscale[c] = static_cast<T>(product * inverse);
    if (args.dbias) args.dbias[c] = static_cast<T>(total);
    if (!args.dx) return;
    const double count = this->count();
    const auto by_x = static_cast<T>(-a * product * inverse * inverse / count);
    const auto shift = static_cast<T>(-a * total / count);
    this->for_images_back([&](Index n) { write_dx(row, this->offset(n, c), by_x, shift, args); });
  }

  void add_sums(const NormRow<T>& row, Index at, const BatchNormArgs<T>& args, double* total,
                double* product) const {
    const BatchNormKernels<T>& channels = *this->set_.batch_norm;
    const Index n = this->shape_.spatial;
    if constexpr (Masked) {
      channels.masked_sums(row, args.dy + at, args.x + at, n, total, product);
    } else {
      channels.sums(args.dy + at, args.x + at, row.mean, n, total, product);
    }
  }

  void write_dx(const NormRow<T>& row, Index at, T by_x, T shift,
                const BatchNormArgs<T>& args) const {
    const BatchNormKernels<T>& channels = *this->set_.batch_norm;
    const Index n = this->shape_.spatial;
    T* const dx = args.dx + at;
    const T* const dy = args.dy + at;
    const T* const x = args.x + at;
    if (Masked && this->constant_statistics_) {
      channels.masked_scale(row, dx, dy, x, n);
    } else if (Masked) {
      channels.masked_gradient(row, dx, dy, x, by_x, shift, n);
    } else if (this->constant_statistics_) {
      this->set_.vector->scale(dx, dy, row.a, n);
    } else {
      this->set_.layer_norm->norm_gradient(dx, dy, x, row.mean, row.a, by_x, shift, n);
    }
  }
};

bool is_backward(const BatchNormDesc& desc) {
  return desc.pass == BatchNormPass::backward ||
         desc.pass == BatchNormPass::backward_constant_statistics;
}
bool supports_columns(const BatchNormDesc& desc, const Kernels&) {
  return desc.pass == BatchNormPass::training && desc.shape.spatial == 1;
}
bool supports_masked_planes(const BatchNormDesc& desc, const Kernels&) {
  return is_backward(desc) && desc.masked;
}
bool supports_planes(const BatchNormDesc& desc, const Kernels&) {
  return !is_backward(desc) || !desc.masked;
}

template <class Algorithm, class T>
constexpr auto make = &make_implementation<Algorithm, BatchNormDesc, BatchNormArgs<T>>;

template <class T>
std::unique_ptr<const Implementation<BatchNormArgs<T>>> make_planes(const BatchNormDesc& desc,
                                                                    const Kernels& kernels) {
  if (is_backward(desc)) return make<Backward<T, false>, T>(desc, kernels);
  if (desc.pass == BatchNormPass::training) return make<Training<T, false>, T>(desc, kernels);
  return make<Inference<T>, T>(desc, kernels);
}

template <class T>
constexpr typename BatchNormPrimitive<T>::Entry list[] = {
    {"columns", &supports_columns, make<Training<T, true>, T>},
    {"masked_planes", &supports_masked_planes, make<Backward<T, true>, T>},
    {"planes", &supports_planes, &make_planes<T>},
};

}  // namespace

template <class T>
BatchNormPrimitive<T>::BatchNormPrimitive(const BatchNormDesc& desc, const Kernels& kernels)
    : Primitive<BatchNormDesc, BatchNormArgs<T>>(list<T>, desc, kernels) {}
template <class T>
BatchNormPrimitive<T>::BatchNormPrimitive(const BatchNormDesc& desc, std::string_view name,
                                          const Kernels& kernels)
    : Primitive<BatchNormDesc, BatchNormArgs<T>>(list<T>, name, desc, kernels) {}

template class BatchNormPrimitive<float>;
template class BatchNormPrimitive<double>;

}  // namespace ondine::math
