// Max pooling without indices: the lines of windows are joined first, then their columns.
#include "kernels/pool/algorithms/max_pool.h"

namespace ondine::math {
namespace {

template <class T>
class MaxLines final : public MaxPool<T> {
 public:
  using MaxPool<T>::MaxPool;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    const PoolColumn column{s.in[1],       s.out[1], s.kernel[1], s.stride[1],
                            s.dilation[1], s.pad[1], s.in[2],     s.out[2]};
    this->for_planes(pool, [&](std::int64_t i) {
      for_parts(s, joined_columns, [&](std::int64_t from, const PoolRow& row) {
        const std::int64_t lines = std::min(column.kernel, column.in_h) + row.kernel;
        const std::int64_t work = lines * (row.out_w + pool_padding);
        for_pieces(column.out_h, work, [&](std::int64_t first, std::int64_t last) {
          PoolColumn part = column;
          part.out_h = last - first;
          part.pad -= first * column.stride;
          this->set_.pool->max_plane(row, part, args.x + i * this->in_plane(),
                                     args.result + i * this->out_plane() + first * s.out[2] + from);
        });
      });
    });
  }
};

}  // namespace

bool supports_max_lines(const PoolDesc& desc, const SimdTables&) {
  return is_max_forward(desc) && !desc.indices && has_joined_lines(desc.shape);
}
template <class T>
MadePool<T> make_max_lines(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<MaxLines<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(max_lines);

}  // namespace ondine::math
