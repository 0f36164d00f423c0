// Average and sum pooling of any windows, and their derivatives: the taps of a row of outputs, line
// by line.
#include "kernels/pool/algorithms/window_counts.h"

namespace ondine::math {
namespace {

template <class T>
class SumRows final : public PoolAlgorithm<T> {
 public:
  using PoolAlgorithm<T>::PoolAlgorithm;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    this->for_planes(pool, [&](std::int64_t i) {
      alignas(64) T sums[pool_outputs + pool_padding];
      for_parts(s, part_columns, [&](std::int64_t from, const PoolRow& row) {
        const WindowCounts<T> counts(this->desc_, from, row.out_w);
        for_output_rows(s, [&](std::int64_t od, std::int64_t oh, std::int64_t output) {
          std::fill_n(sums, row.out_w + pool_padding, T{0});
          for_rows_at(s, od, oh, [&](std::int64_t offset) {
            for_taps(row, [&](const PoolRow& part) {
              this->set_.pool->sum_line(part, args.x + i * this->in_plane() + offset, sums);
            });
          });
          counts.divide(od, oh, sums, args.result + i * this->out_plane() + output + from);
        });
      });
    });
  }
};

template <class T>
class SpreadRows final : public PoolAlgorithm<T> {
 public:
  using PoolAlgorithm<T>::PoolAlgorithm;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    const std::int64_t in = this->in_plane();
    this->for_planes(pool, [&](std::int64_t i) {
      T* const dx = args.result + i * in;
      std::fill_n(dx, in, T{0});
      T shares[pool_outputs];
      for_parts(s, part_columns, [&](std::int64_t from, const PoolRow& row) {
        const WindowCounts<T> counts(this->desc_, from, row.out_w);
        for_output_rows(s, [&](std::int64_t od, std::int64_t oh, std::int64_t output) {
          counts.divide(od, oh, args.dy + i * this->out_plane() + output + from, shares);
          for_rows_at(s, od, oh, [&](std::int64_t offset) {
            for_taps(row, [&](const PoolRow& part) {
              this->set_.pool->spread_line(part, shares, dx + offset);
            });
          });
        });
      });
    });
  }
};

}  // namespace

bool supports_sum_rows(const PoolDesc& desc, const SimdTables&) {
  return desc.kind != PoolKind::max;
}
template <class T>
MadePool<T> make_sum_rows(const PoolDesc& desc, const SimdTables& kernels) {
  if (desc.backward) return std::make_unique<SpreadRows<T>>(desc, kernels);
  return std::make_unique<SumRows<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(sum_rows);

}  // namespace ondine::math
