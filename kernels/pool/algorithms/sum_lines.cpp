// Average and sum pooling: all lines of a row of windows are joined at once.
#include "kernels/pool/algorithms/window_counts.h"

namespace ondine::math {
namespace {

template <class T>
class SumLines final : public PoolAlgorithm<T> {
 public:
  using PoolAlgorithm<T>::PoolAlgorithm;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    this->for_planes(pool, [&](std::int64_t i) {
      const T* const plane = args.x + i * this->in_plane();
      T* const y = args.result + i * this->out_plane();
      alignas(64) T sums[pool_outputs + pool_padding];
      for_parts(s, joined_columns, [&](std::int64_t from, const PoolRow& row) {
        const WindowCounts<T> counts(this->desc_, from, row.out_w);
        for_output_rows(s, [&](std::int64_t od, std::int64_t oh, std::int64_t output) {
          const Lines lines = lines_at(s, oh);
          checkpoint((lines.count + row.kernel) * (row.out_w + pool_padding));
          if (lines.count > 0 && row.kernel > 0) {
            this->set_.pool->sum_window(row, plane + lines.first, lines.step, lines.count, sums);
          } else {
            std::fill_n(sums, row.out_w, T{0});
          }
          counts.divide(od, oh, sums, y + output + from);
        });
      });
    });
  }
};

}  // namespace

bool supports_sum_lines(const PoolDesc& desc, const SimdTables&) {
  return desc.kind != PoolKind::max && !desc.backward && has_joined_lines(desc.shape);
}
template <class T>
MadePool<T> make_sum_lines(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<SumLines<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(sum_lines);

}  // namespace ondine::math
