// Max pooling of few columns: the windows of a plane, all inside of it, whatever row they are in.
#include <vector>

#include "kernels/pool/algorithms/max_pool.h"

namespace ondine::math {
namespace {

constexpr std::int64_t max_columns = 8;  // of outputs; more fill the vectors of max_rows
constexpr std::int64_t max_outputs = 1024;

template <class T>
class MaxWindows final : public MaxPool<T> {
 public:
  MaxWindows(const PoolDesc& desc, const SimdTables& kernels) : MaxPool<T>(desc, kernels) {
    const PoolShape& s = desc.shape;
    add_offsets(s.in, s.out, s.stride, starts_);
    add_offsets(s.in, s.kernel, s.dilation, taps_);
    starts_.resize(starts_.size() + pool_padding);
  }

  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const std::int64_t in = this->in_plane();
    const std::int64_t out = this->out_plane();
    const PoolWindows<T> windows{starts_.data(), out, taps_.data(),
                                 volume(this->desc_.shape.kernel)};
    this->for_planes(pool, [&](std::int64_t i) {
      std::int64_t* const indices = this->desc_.indices ? args.new_indices + i * out : nullptr;
      this->set_.pool->max_windows(windows, args.x + i * in, i * in, args.result + i * out,
                                   indices);
      if (indices) this->reorder(i, indices);
    });
  }

 private:
  // Where the elements of a grid lie in a plane, those of each dim `step` apart.
  static void add_offsets(const SpatialDims& in, const SpatialDims& grid, const SpatialDims& step,
                          std::vector<PoolCode<T>>& offsets) {
    for (std::int64_t d = 0; d < grid[0]; ++d) {
      for (std::int64_t h = 0; h < grid[1]; ++h) {
        for (std::int64_t w = 0; w < grid[2]; ++w) {
          const std::int64_t line = d * step[0] * in[1] + h * step[1];
          offsets.push_back(static_cast<PoolCode<T>>(line * in[2] + w * step[2]));
        }
      }
    }
  }

  std::vector<PoolCode<T>> starts_;  // of windows
  std::vector<PoolCode<T>> taps_;
};

}  // namespace

bool supports_max_windows(const PoolDesc& desc, const SimdTables&) {
  const PoolShape& s = desc.shape;
  if (!is_max_forward(desc) || s.out[2] > max_columns || s.pad != SpatialDims{0, 0, 0})
    return false;
  std::int64_t outputs = 1;
  std::int64_t taps = 1;
  for (std::size_t dim = 0; dim < 3; ++dim) {
    // Without overflow, whatever the attributes are.
    if (s.kernel[dim] > max_window_taps || s.out[dim] > max_outputs) return false;
    if (s.stride[dim] > s.in[dim] && s.out[dim] > 1) return false;
    if (s.dilation[dim] > s.in[dim] && s.kernel[dim] > 1) return false;
    outputs *= s.out[dim];
    taps *= s.kernel[dim];
    const std::int64_t start = s.out[dim] > 1 ? (s.out[dim] - 1) * s.stride[dim] : 0;
    const std::int64_t reach = s.kernel[dim] > 1 ? (s.kernel[dim] - 1) * s.dilation[dim] : 0;
    if (start + reach >= s.in[dim]) return false;
  }
  return outputs <= max_outputs && taps <= max_window_taps;
}
template <class T>
MadePool<T> make_max_windows(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<MaxWindows<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(max_windows);

}  // namespace ondine::math
