#include "kernels/norm/softmax_primitive.h"

#include <algorithm>
#include <bitset>
#include <cmath>

#include "kernels/common/stored_elements.h"
#include "kernels/elementwise/vector.h"
#include "kernels/simd/norm/softmax_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

template <class T>
class SoftmaxRows final : public Implementation<SoftmaxArgs<T>> {
 public:
  SoftmaxRows(const SoftmaxDesc& desc, const SimdTables& kernels)
      : rows_(desc.outer),
        length_(desc.length),
        backward_(desc.backward),
        y_stored_(desc.y_stored) {
    const SoftmaxKernels<T>& set = *tables_of<T>(kernels).softmax;
    forward_row_ = desc.logarithm ? set.log_softmax : set.softmax;
    backward_row_ = desc.logarithm ? set.log_softmax_gradient : set.softmax_gradient;
    bf16_row_ = set.softmax_gradient_bf16;
  }

  void run(ThreadPool& pool, const SoftmaxArgs<T>& args) const override {
    if (length_ == 0) return;
    require_stored(args.y, y_stored_);
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / 2 / length_);
    pool.for_chunks(rows_, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i * length_;
        if (y_stored_ == Storage::bf16) {
          bf16_row_(args.result + at, args.dy + at, args.y.bf16() + at, length_);
        } else if (backward_) {
          backward_row_(args.result + at, args.dy + at, args.y.plain() + at, length_);
        } else {
          forward_row_(args.result + at, args.x + at, length_);
        }
      }
    });
  }

 private:
  std::int64_t rows_, length_;
  bool backward_;
  Storage y_stored_;
  void (*forward_row_)(T* y, const T* x, std::int64_t n);
  void (*backward_row_)(T* dx, const T* dy, const T* y, std::int64_t n);
  void (*bf16_row_)(T* dx, const T* dy, const std::uint16_t* y, std::int64_t n);
};

// Element (o, k, i) lies at (o * length + k) * inner + i. A block is up to 256 columns i of one o.
template <class T>
class SoftmaxColumns final : public Implementation<SoftmaxArgs<T>> {
 public:
  SoftmaxColumns(const SoftmaxDesc& desc, const SimdTables& kernels)
      : desc_(desc), v_(vector_kernels<T>(kernels)) {}

  void run(ThreadPool& pool, const SoftmaxArgs<T>& args) const override {
    if (desc_.length == 0) return;
    const std::int64_t blocks = (desc_.inner + block - 1) / block;
    const std::int64_t cost =
        std::max<std::int64_t>(1, desc_.length * std::min(desc_.inner, block));
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / cost);
    pool.for_chunks(desc_.outer * blocks, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto at = first; at < last; ++at) {
        const std::int64_t column = at % blocks * block;
        const std::int64_t offset = at / blocks * desc_.length * desc_.inner + column;
        const std::int64_t n = std::min(block, desc_.inner - column);
        if (desc_.backward) {
          differentiate(args.dy + offset, elements_of<T>(args.y) + offset, args.result + offset, n);
        } else {
          normalize(args.x + offset, args.result + offset, n);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t block = 256;

  void normalize(const T* x, T* y, std::int64_t n) const {
    const std::int64_t step = desc_.inner;
    T top[block];
    T sum[block];
    T row[block];
    v_.copy(top, x, n);
    for (std::int64_t k = 1; k < desc_.length; ++k) v_.max.vv(top, top, x + k * step, n);
    v_.fill(sum, 0, n);
    for (std::int64_t k = 0; k < desc_.length; ++k) {
      T* const to = y + k * step;
      v_.sub.vv(to, x + k * step, top, n);
      T* const power = desc_.logarithm ? row : to;
      v_.exp(power, to, n);
      v_.add.vv(sum, sum, power, n);
    }
    if (desc_.logarithm) v_.log(sum, sum, n);
    const auto apply = desc_.logarithm ? v_.sub.vv : v_.div.vv;
    for (std::int64_t k = 0; k < desc_.length; ++k) apply(y + k * step, y + k * step, sum, n);
  }

  void differentiate(const T* dy, const T* y, T* dx, std::int64_t n) const {
    const std::int64_t end = desc_.length * desc_.inner;
    T sum[block];
    T row[block];
    std::bitset<block> unused;
    v_.fill(sum, 0, n);
    for (std::int64_t at = 0; at < end; at += desc_.inner) {
      if (desc_.logarithm) {
        v_.add.vv(sum, sum, dy + at, n);
      } else {
        v_.multiply_add(sum, dy + at, y + at, n);
      }
    }
    for (std::int64_t i = 0; i < n && !desc_.logarithm; ++i) {
      unused[static_cast<std::size_t>(i)] = std::isnan(sum[i]) && is_zero(dy + i);
    }
    for (std::int64_t at = 0; at < end; at += desc_.inner) {
      if (desc_.logarithm) {
        v_.exp(row, y + at, n);
        v_.mul.vv(row, row, sum, n);
        v_.sub.vv(dx + at, dy + at, row, n);
      } else {
        v_.sub.vv(row, dy + at, sum, n);
        v_.mul.vv(dx + at, row, y + at, n);
      }
    }
    for (std::int64_t i = 0; i < n && unused.any(); ++i) {
      if (!unused[static_cast<std::size_t>(i)]) continue;
      for (std::int64_t at = i; at < end; at += desc_.inner) dx[at] = 0;
    }
  }

  // Whether a column is 0.
  bool is_zero(const T* x) const {
    for (std::int64_t k = 0; k < desc_.length; ++k) {
      if (x[k * desc_.inner] != 0) return false;
    }
    return true;
  }

  SoftmaxDesc desc_;
  const VectorKernels<T>& v_;
};

bool supports_rows(const SoftmaxDesc& desc, const SimdTables&) { return desc.inner == 1; }

template <class T, template <class> class Algorithm>
constexpr auto make = &make_implementation<Algorithm<T>, SoftmaxDesc, SoftmaxArgs<T>>;

template <class T>
constexpr typename SoftmaxPrimitive<T>::Entry list[] = {
    {"rows", &supports_rows, make<T, SoftmaxRows>},
    {"columns", &supports_any, make<T, SoftmaxColumns>},
};

}  // namespace

template <class T>
bool SoftmaxPrimitive<T>::takes_bf16(const SoftmaxDesc& desc) {
  return sizeof(T) == sizeof(float) && desc.backward && !desc.logarithm && desc.inner == 1;
}
template <class T>
SoftmaxPrimitive<T>::SoftmaxPrimitive(const SoftmaxDesc& desc, const SimdTables& kernels)
    : Primitive<SoftmaxDesc, SoftmaxArgs<T>>(list<T>, desc, kernels) {}
template <class T>
SoftmaxPrimitive<T>::SoftmaxPrimitive(const SoftmaxDesc& desc, std::string_view name,
                                      const SimdTables& kernels)
    : Primitive<SoftmaxDesc, SoftmaxArgs<T>>(list<T>, name, desc, kernels) {}

template class SoftmaxPrimitive<float>;
template class SoftmaxPrimitive<double>;

}  // namespace ondine::math
