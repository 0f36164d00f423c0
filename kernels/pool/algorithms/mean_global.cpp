// The average or sum of whole planes.
#include "kernels/pool/algorithms/windows.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

template <class T>
class MeanGlobal final : public PoolAlgorithm<T> {
 public:
  MeanGlobal(const PoolDesc& desc, const SimdTables& kernels)
      : PoolAlgorithm<T>(desc, kernels),
        count_(desc.kind == PoolKind::sum ? T{1} : static_cast<T>(volume(desc.shape.in))) {}

  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const std::int64_t in = this->in_plane();
    this->for_planes(pool, [&](std::int64_t i) {
      if (this->desc_.backward) {
        this->set_.vector->fill(args.result + i * in, args.dy[i] / count_, in);
      } else {
        args.result[i] = this->set_.vector->sum(args.x + i * in, in) / count_;
      }
    });
  }

 private:
  T count_;
};

}  // namespace

bool supports_mean_global(const PoolDesc& desc, const SimdTables&) {
  const PoolShape& s = desc.shape;
  const SpatialDims ones{1, 1, 1};
  return desc.kind != PoolKind::max && s.kernel == s.in && s.out == ones && s.dilation == ones &&
         s.pad == SpatialDims{0, 0, 0};
}
template <class T>
MadePool<T> make_mean_global(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<MeanGlobal<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(mean_global);

}  // namespace ondine::math
