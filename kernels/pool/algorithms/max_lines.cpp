// Max pooling without indices: all lines of a row of windows are joined at once.
#include "kernels/pool/algorithms/max_pool.h"

namespace ondine::math {
namespace {

template <class T>
class MaxLines final : public MaxPool<T> {
 public:
  using MaxPool<T>::MaxPool;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    this->for_planes(pool, [&](std::int64_t i) {
      const T* const plane = args.x + i * this->in_plane();
      T* const y = args.result + i * this->out_plane();
      for_output_rows(s, [&](std::int64_t, std::int64_t oh, std::int64_t output) {
        const Lines lines = lines_at(s, oh);
        for_parts(s, [&](std::int64_t from, const PoolRow& row) {
          this->set_.pool->max_window(row, plane + lines.first, lines.step, lines.count,
                                      y + output + from);
        });
      });
    });
  }
};

}  // namespace

bool supports_max_lines(const PoolDesc& desc, const Kernels&) {
  return is_max_forward(desc) && !desc.indices && has_joined_lines(desc.shape);
}
template <class T>
MadePool<T> make_max_lines(const PoolDesc& desc, const Kernels& kernels) {
  return std::make_unique<MaxLines<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(max_lines);

}  // namespace ondine::math
