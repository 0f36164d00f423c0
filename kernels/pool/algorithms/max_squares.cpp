// Max pooling over windows of 2 x 2 that lie side by side.
#include "kernels/pool/algorithms/max_pool.h"

namespace ondine::math {
namespace {

template <class T>
class MaxSquares final : public MaxPool<T> {
 public:
  using MaxPool<T>::MaxPool;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const PoolShape& s = this->desc_.shape;
    const std::int64_t in = this->in_plane();
    const std::int64_t out = this->out_plane();
    this->for_planes(pool, [&](std::int64_t i) {
      for (std::int64_t row = 0; row < s.out[1]; ++row) {
        const T* const upper = args.x + i * in + 2 * row * s.in[2];
        const std::int64_t at = i * out + row * s.out[2];
        this->set_.pool->max_squares(upper, upper + s.in[2], s.out[2], i * in + 2 * row * s.in[2],
                                     s.in[2], args.result + at,
                                     this->desc_.indices ? args.new_indices + at : nullptr);
      }
      if (this->desc_.indices) this->reorder(i, args.new_indices + i * out);
    });
  }
};

}  // namespace

bool supports_max_squares(const PoolDesc& desc, const SimdTables&) {
  const PoolShape& s = desc.shape;
  const SpatialDims two{1, 2, 2};
  return is_max_forward(desc) && s.kernel == two && s.stride == two &&
         s.pad == SpatialDims{0, 0, 0} && s.dilation == SpatialDims{1, 1, 1} &&
         s.in[0] == s.out[0] && 2 * s.out[1] <= s.in[1] && 2 * s.out[2] <= s.in[2] && s.in[0] == 1;
}
template <class T>
MadePool<T> make_max_squares(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<MaxSquares<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(max_squares);

}  // namespace ondine::math
