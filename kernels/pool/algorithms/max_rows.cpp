// Max pooling of any windows: the taps of a row of outputs, joined line by line.
#include "kernels/pool/algorithms/max_pool.h"

namespace ondine::math {
namespace {

// The maxima of a part of an output row and where they are in the plane.
template <class T>
struct Maxima {
  alignas(64) T best[pool_outputs + pool_padding];
  alignas(64) PoolCode<T> code[pool_outputs + pool_padding];

  void find(const PoolShape& s, const PoolRow& row, std::int64_t od, std::int64_t oh,
            const T* plane, bool positions, const PoolKernels<T>& kernels) {
    const std::int64_t n = row.out_w + pool_padding;
    std::fill(best, best + n, -std::numeric_limits<T>::infinity());
    if (positions) std::fill(code, code + n, none);
    for_rows_at(s, od, oh, [&](std::int64_t offset) {
      for_taps(row, [&](const PoolRow& part) {
        kernels.max_line(part, plane + offset, offset, best, positions ? code : nullptr);
      });
    });
    for (std::int64_t j = 0; positions && j < row.out_w; ++j) {
      if (code[j] == none) code[j] = static_cast<PoolCode<T>>(first_inside(s, row, od, oh, j));
    }
  }

  std::int64_t position(const PoolRow& row, std::int64_t j) const {
    return static_cast<std::int64_t>(code[j]) + j * row.stride;
  }

 private:
  static constexpr PoolCode<T> none = std::numeric_limits<PoolCode<T>>::min();

  // First element inside the plane, of a window that has nothing but -infinity.
  static std::int64_t first_inside(const PoolShape& s, const PoolRow& row, std::int64_t od,
                                   std::int64_t oh, std::int64_t j) {
    std::int64_t first = -1;
    for_rows_at(s, od, oh, [&](std::int64_t offset) {
      checkpoint(1);
      for (std::int64_t k = 0; first < 0 && k < row.kernel; ++k) {
        const std::int64_t column = j * row.stride + k * row.dilation - row.pad;
        if (column >= 0 && column < row.in_w) first = offset + column;
      }
    });
    return first - j * row.stride;
  }
};

template <class T>
class MaxRows final : public MaxPool<T> {
 public:
  using MaxPool<T>::MaxPool;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    const std::int64_t in = this->in_plane();
    const std::int64_t out = this->out_plane();
    const bool indices = this->desc_.indices;
    this->for_planes(pool, [&](std::int64_t i) {
      Maxima<T> maxima;
      for_output_rows(s, [&](std::int64_t od, std::int64_t oh, std::int64_t output) {
        for_parts(s, part_columns, [&](std::int64_t from, const PoolRow& row) {
          const std::int64_t at = i * out + output + from;
          maxima.find(s, row, od, oh, args.x + i * in, indices, *this->set_.pool);
          std::copy(maxima.best, maxima.best + row.out_w, args.result + at);
          for (std::int64_t j = 0; indices && j < row.out_w; ++j) {
            args.new_indices[at + j] = i * in + maxima.position(row, j);
          }
        });
      });
      if (indices) this->reorder(i, args.new_indices + i * out);
    });
  }
};

}  // namespace

bool supports_max_rows(const PoolDesc& desc, const SimdTables&) { return is_max_forward(desc); }
template <class T>
MadePool<T> make_max_rows(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<MaxRows<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(max_rows);

}  // namespace ondine::math
