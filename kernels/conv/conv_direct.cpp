#include "kernels/conv/conv_direct.h"

#include "kernels/common/scratch_pool.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index most_bytes = 48 * 1024;      // of the copy of an image
constexpr Index gradient_bytes = 64 * 1024;  // of the copies at a time
constexpr Index task_work = Index{1} << 19;  // multiplications
constexpr Index most_shards = 4;

Plane plane_of(const ConvShape& s, const Direction& d) {
  return {d.in[1], d.in[2], s.kernel[1],   s.kernel[2],   d.out[1], d.out[2],
          1,       1,       s.dilation[1], s.dilation[2], d.pad_h,  d.pad_w};
}

template <class T>
std::size_t panel_bytes(const ConvShape& s, const Direction& d, const Kernels& kernels) {
  const Index rows = kernel_set<T>(kernels).direct->rows;
  return bytes_of<T>(round_up(d.outer, rows) * d.inner * volume(s.kernel));
}

// The gradient by the weights: each shard of the images has sums of its own.
template <class T>
struct GradientPlan {
  GradientPlan(const ConvShape& s, const Kernels& kernels) : d(s, Pass::weight_gradient) {
    const auto& direct = *kernel_set<T>(kernels).direct;
    const Plane plane = math::plane_of(s);
    copy = direct.copy_elements(plane, s.in_channels);
    slopes = direct.slope_elements(plane, s.out_channels);
    const Index work = volume(s.out) * s.out_channels * s.in_channels * volume(s.kernel);
    const Index shards_worth = s.batch * work / (4 * task_work);
    shard = even_piece(
        s.batch, std::max<Index>(1, s.batch / std::clamp<Index>(shards_worth, 1, most_shards)));
    shards = (s.batch + shard - 1) / shard;
    const Index image_bytes = (copy + slopes) * Index{sizeof(T)};
    images = std::clamp<Index>(gradient_bytes / image_bytes, 1, shard);
    weights = s.out_channels * s.in_channels * volume(s.kernel);
    sums = weights * direct.lanes;
    slot = bytes_of<T>(images * copy) + bytes_of<T>(images * slopes);
  }
  Direction d;
  Index copy, slopes;   // elements of an image
  Index shard, shards;  // images of one, and how many
  Index images;         // at a time
  Index weights, sums;  // elements
  std::size_t slot;
};

}  // namespace

template <class T>
bool takes_direct(const ConvShape& s, Pass pass, const Kernels& kernels) {
  if (!is_simple(s) || volume(s.kernel) == 1) return false;
  const Direction d(s, pass);
  const auto& direct = *kernel_set<T>(kernels).direct;
  return std::min(s.in_channels, s.out_channels) <= 16 &&
         d.inner * volume(s.kernel) <= direct.most_depth && d.out[2] >= 8 &&
         direct.copy_elements(plane_of(s, d), d.inner) * Index{sizeof(T)} <= most_bytes;
}

template <class T>
std::size_t direct_workspace(const ConvShape& s, Pass pass, int threads, const Kernels& kernels) {
  const Direction d(s, pass);
  const Index copy = kernel_set<T>(kernels).direct->copy_elements(plane_of(s, d), d.inner);
  return panel_bytes<T>(s, d, kernels) + ScratchPool::bytes(bytes_of<T>(copy), threads);
}

template <class T>
void direct(ThreadPool& pool, const ConvShape& s, Pass pass, const T* from, const T* w,
            const T* bias, Activation activation, T* to, Workspace workspace,
            const Kernels& kernels) {
  const Direction d(s, pass);
  const auto& set = *kernel_set<T>(kernels).direct;
  const Plane plane = plane_of(s, d);
  const std::size_t panels = panel_bytes<T>(s, d, kernels);
  T* const weights = static_cast<T*>(workspace.data);
  set.weights(weights_of(s, d), volume(s.kernel), d.backward, w, weights);
  const Workspace rest{static_cast<std::byte*>(workspace.data) + panels, workspace.bytes - panels};
  const Index work = std::max<Index>(1, volume(d.out) * d.outer * d.inner * volume(s.kernel));
  ScratchPool(rest, bytes_of<T>(set.copy_elements(plane, d.inner)))
      .for_chunks(pool, s.batch, std::max<Index>(1, task_work / work),
                  [&](std::byte* scratch, Index first, Index last) {
                    T* const copy = reinterpret_cast<T*>(scratch);
                    for (Index image = first; image < last; ++image) {
                      set.copy(plane, d.inner, from + image * d.inner * volume(d.in), copy);
                      set.forward(plane, d.inner, d.outer, copy, weights, bias, activation,
                                  to + image * d.outer * volume(d.out));
                    }
                  });
}

template <class T>
std::size_t direct_weight_gradient_workspace(const ConvShape& s, int threads,
                                             const Kernels& kernels) {
  const GradientPlan<T> p(s, kernels);
  return bytes_of<T>(p.shards * p.sums) + ScratchPool::bytes(p.slot, threads);
}

template <class T>
void direct_weight_gradient(ThreadPool& pool, const ConvShape& s, const T* x, const T* dy, T* dw,
                            Workspace workspace, const Kernels& kernels) {
  const GradientPlan<T> p(s, kernels);
  const auto& set = *kernel_set<T>(kernels).direct;
  const Plane plane = math::plane_of(s);
  const std::size_t shared = bytes_of<T>(p.shards * p.sums);
  T* const all = static_cast<T*>(workspace.data);
  const Workspace rest{static_cast<std::byte*>(workspace.data) + shared, workspace.bytes - shared};
  ScratchPool(rest, p.slot)
      .for_chunks(pool, p.shards, 1, [&](std::byte* scratch, Index begin, Index end) {
        T* const copies = reinterpret_cast<T*>(scratch);
        T* const slopes = reinterpret_cast<T*>(scratch + bytes_of<T>(p.images * p.copy));
        for (Index shard = begin; shard < end; ++shard) {
          T* const sums = all + shard * p.sums;
          kernel_set<T>(kernels).vector->fill(sums, T{0}, p.sums);
          const Index last = std::min(s.batch, (shard + 1) * p.shard);
          for (Index image = shard * p.shard; image < last; image += p.images) {
            const Index count = std::min(p.images, last - image);
            for (Index i = 0; i < count; ++i) {
              set.copy(plane, s.in_channels, x + (image + i) * s.in_channels * volume(s.in),
                       copies + i * p.copy);
              set.slopes(plane, s.out_channels, dy + (image + i) * s.out_channels * volume(s.out),
                         slopes + i * p.slopes);
            }
            set.weight_sums(plane, s.in_channels, s.out_channels, count, copies, slopes, sums);
          }
        }
      });
  set.weight_gradient(p.weights, p.shards, p.sums, all, dw);
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template bool takes_direct<T>(const ConvShape&, Pass, const Kernels&);                           \
  template std::size_t direct_workspace<T>(const ConvShape&, Pass, int, const Kernels&);           \
  template void direct<T>(ThreadPool&, const ConvShape&, Pass, const T*, const T*, const T*,       \
                          Activation, T*, Workspace, const Kernels&);                              \
  template std::size_t direct_weight_gradient_workspace<T>(const ConvShape&, int, const Kernels&); \
  template void direct_weight_gradient<T>(ThreadPool&, const ConvShape&, const T*, const T*, T*,   \
                                          Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
