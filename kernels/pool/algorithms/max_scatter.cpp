// The derivative of max pooling by its indices.
#include "kernels/pool/algorithms/windows.h"
#include "kernels/pool/storage_order.h"

namespace ondine::math {
namespace {

template <class T>
class MaxScatter final : public PoolAlgorithm<T> {
 public:
  using PoolAlgorithm<T>::PoolAlgorithm;
  void run(ThreadPool& pool, const PoolArgs<T>& args) const override {
    const std::int64_t in = this->in_plane();
    const std::int64_t out = this->out_plane();
    this->for_planes(pool, [&](std::int64_t i) {
      T* const plane = args.result + i * in;
      const T* const dy = args.dy + i * out;
      const std::int64_t* const indices = args.indices + i * out;
      std::fill_n(plane, in, T{0});
      if (!this->desc_.column_major) {
        return add(plane, in, dy, indices, out, i * in, [](std::int64_t at) { return at; });
      }
      add(plane, in, dy, indices, out, i * in,
          [&](std::int64_t at) { return to_row_major(this->desc_.shape.in, at); });
    });
  }

 private:
  // Indices count from `first` on; those outside of the plane are left out.
  template <class Place>
  static void add(T* plane, std::int64_t in, const T* dy, const std::int64_t* indices,
                  std::int64_t out, std::int64_t first, Place&& place) {
    for_pieces(out, 4, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t o = from; o < to; ++o) {
        const std::int64_t at = indices[o] - first;
        if (at >= 0 && at < in) plane[place(at)] += dy[o];
      }
    });
  }
};

}  // namespace

bool supports_max_scatter(const PoolDesc& desc, const SimdTables&) {
  return desc.kind == PoolKind::max && desc.backward;
}
template <class T>
MadePool<T> make_max_scatter(const PoolDesc& desc, const SimdTables& kernels) {
  return std::make_unique<MaxScatter<T>>(desc, kernels);
}
ONDINE_INSTANTIATE_POOL(max_scatter);

}  // namespace ondine::math
