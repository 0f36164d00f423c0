#include "kernels/norm/layer_norm_primitive.h"

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/vector.h"
#include "kernels/norm/bf16_elements.h"
#include "kernels/simd/norm/layer_norm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// body(row, offset of its first element) for each row.
template <class Body>
void for_rows(ThreadPool& pool, const LayerNormDesc& desc, Body&& body) {
  const Index grain = std::max<Index>(1, elementwise_grain / desc.length);
  pool.for_chunks(desc.rows, grain, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) body(i, i * desc.length);
  });
}

template <class T, class X>
class Forward final : public Implementation<LayerNormArgs<T>> {
 public:
  Forward(const LayerNormDesc& desc, const SimdTables& kernels)
      : desc_(desc),
        epsilon_(static_cast<double>(static_cast<T>(desc.epsilon))),
        rows_(*norm_kernels<T, X>(kernels).layer_norm),
        copy_(kernels) {}

  void run(ThreadPool& pool, const LayerNormArgs<T>& args) const override {
    const Index length = desc_.length;
    if (length == 0) return;
    for_rows(pool, desc_, [&](Index i, Index at) {
      const X* const row = elements_of<X>(args.x) + at;
      const T mean = desc_.centred ? rows_.sum(row, length) / static_cast<T>(length) : T{0};
      const T variance = rows_.sum_squared_deviation(row, mean, length) / static_cast<T>(length);
      const auto inv_std =
          static_cast<T>(1.0 / std::sqrt(static_cast<double>(variance) + epsilon_));
      if (args.bf16_x) copy_(args.bf16_x + at, row, length);
      if (args.y.is_bf16()) {
        round(args, at, row, mean, inv_std);
      } else if (args.y) {
        rows_.normalize(args.y.plain() + at, row, mean, inv_std, args.scale, args.bias, length);
      }
      if (args.saved_mean) args.saved_mean[i] = mean;
      if (args.saved_inv_std) args.saved_inv_std[i] = inv_std;
    });
  }

 private:
  void round(const LayerNormArgs<T>& args, Index at, const X* row, T mean, T inv_std) const {
    constexpr Index block = 512;
    alignas(64) T y[block];
    for (Index j = 0; j < desc_.length; j += block) {
      const Index n = std::min(block, desc_.length - j);
      const auto part = [j](const T* of_row) { return of_row != nullptr ? of_row + j : nullptr; };
      rows_.normalize(y, row + j, mean, inv_std, part(args.scale), part(args.bias), n);
      copy_(args.y.bf16() + at + j, y, n);
    }
  }

  LayerNormDesc desc_;
  double epsilon_;
  const LayerNormKernels<T, X>& rows_;
  Bf16Copy copy_;
};

template <class T, class X, bool Scaled>
class Backward final : public Implementation<LayerNormArgs<T>> {
 public:
  Backward(const LayerNormDesc& desc, const SimdTables& kernels)
      : desc_(desc), kernels_(kernels), rows_(*norm_kernels<T, X>(kernels).layer_norm) {}

  void run(ThreadPool& pool, const LayerNormArgs<T>& args) const override {
    if (desc_.length == 0) return;
    if (args.dbias) {
      column_sums(pool, args.dbias, args.dy, desc_.rows, desc_.length, desc_.length, kernels_);
    }
    if (args.dscale) write_dscale(pool, args);
    if (!args.dx) return;
    for_rows(pool, desc_, [&](Index i, Index at) { write_dx(i, at, args); });
  }

 private:
  // Strips of columns, each over all rows in order; blocks of rows keep the error small.
  void write_dscale(ThreadPool& pool, const LayerNormArgs<T>& args) const {
    constexpr Index strip = 64;
    const Index length = desc_.length;
    const Index strips = (length + strip - 1) / strip;
    const Index grain = std::max<Index>(1, elementwise_grain / (strip * (desc_.rows + 1)));
    pool.for_chunks(strips, grain, [&](Index first, Index last) {
      const Index from = first * strip;
      rows_.normal_column_sums(args.dscale + from, args.dy + from, elements_of<X>(args.x) + from,
                               args.mean, args.inv_std, desc_.rows,
                               std::min(length, last * strip) - from, length);
    });
  }

  void write_dx(Index i, Index at, const LayerNormArgs<T>& args) const {
    const Index length = desc_.length;
    const T* const dy = args.dy + at;
    const X* const x = elements_of<X>(args.x) + at;
    const T mean = args.mean[i];
    T total = 0;
    T product = 0;
    if constexpr (Scaled) {
      rows_.scaled_norm_sums(dy, args.scale, x, mean, length, &total, &product);
    } else {
      rows_.norm_sums(dy, x, mean, length, &total, &product);
    }
    const T a = args.inv_std[i];
    const T b = -a * a * a * product / static_cast<T>(length);
    const T c = desc_.centred ? -a * total / static_cast<T>(length) : T{0};
    if constexpr (Scaled) {
      rows_.scaled_norm_gradient(args.dx + at, dy, args.scale, x, mean, a, b, c, length);
    } else {
      rows_.norm_gradient(args.dx + at, dy, x, mean, a, b, c, length);
    }
  }

  LayerNormDesc desc_;
  const SimdTables& kernels_;
  const LayerNormKernels<T, X>& rows_;
};

bool supports_scaled_rows(const LayerNormDesc& desc, const SimdTables&) {
  return desc.backward && desc.scaled;
}
bool supports_rows(const LayerNormDesc& desc, const SimdTables&) {
  return !desc.backward || !desc.scaled;
}

template <class T>
using Made = std::unique_ptr<const Implementation<LayerNormArgs<T>>>;

template <class T, class X>
Made<T> make_of(const LayerNormDesc& desc, const SimdTables& kernels) {
  if (!desc.backward) return std::make_unique<const Forward<T, X>>(desc, kernels);
  if (desc.scaled) return std::make_unique<const Backward<T, X, true>>(desc, kernels);
  return std::make_unique<const Backward<T, X, false>>(desc, kernels);
}

template <class T>
Made<T> make(const LayerNormDesc& desc, const SimdTables& kernels) {
  return visit_elements<T>(desc.x_stored, [&]<class X>() { return make_of<T, X>(desc, kernels); });
}

template <class T>
constexpr typename LayerNormPrimitive<T>::Entry list[] = {
    {"scaled_rows", &supports_scaled_rows, &make<T>},
    {"rows", &supports_rows, &make<T>},
};

}  // namespace

template <class T>
LayerNormPrimitive<T>::LayerNormPrimitive(const LayerNormDesc& desc, const SimdTables& kernels)
    : Primitive<LayerNormDesc, LayerNormArgs<T>>(list<T>, desc, kernels) {}
template <class T>
LayerNormPrimitive<T>::LayerNormPrimitive(const LayerNormDesc& desc, std::string_view name,
                                          const SimdTables& kernels)
    : Primitive<LayerNormDesc, LayerNormArgs<T>>(list<T>, name, desc, kernels) {}

template class LayerNormPrimitive<float>;
template class LayerNormPrimitive<double>;

}  // namespace ondine::math
