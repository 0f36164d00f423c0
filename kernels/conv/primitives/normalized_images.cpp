#include "kernels/conv/primitives/normalized_images.h"

#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/sources/grouped_sums.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index cache_bytes = Index{2} << 20;  // of z, that it is still in a cache when it is read
constexpr Index least_positions = 1024;  // of a group: weights are packed or transformed for each
constexpr Index work_of_task = Index{1} << 16;

Index weights_of(const ConvShape& s) {
  return s.out_channels * s.in_channels / s.groups * volume(s.kernel);
}

// Images of a group. Large weights, which each group reads, are met by as many elements of z.
template <class T>
Index images_of_group(const ConvShape& s) {
  const Index image = s.in_channels * volume(s.in) * Index{sizeof(T)};
  const Index weights = weights_of(s) * Index{sizeof(T)};
  const Index bytes = std::max(cache_bytes, weights);
  const Index images = std::max(divide_up(bytes, std::max<Index>(1, image)),
                                divide_up(least_positions, std::max<Index>(1, volume(s.out))));
  return s.batch == 0 ? 1 : even_chunk(s.batch, std::min(images, s.batch));
}

ConvDesc group_of(ConvShape shape, ConvDirection direction, Index images) {
  shape.batch = images;
  return {.shape = shape, .direction = direction};
}

}  // namespace

template <class T>
NormalizedImages<T>::NormalizedImages(const NormalizedImagesDesc& desc, ConvDirection direction,
                                      int threads, const SimdTables& given)
    : shape_(desc.shape),
      kernels_(&without(given, ProductMode::bf16)),
      source_(desc.norm, desc.shape.in_channels, volume(desc.shape.in), *kernels_),
      images_(images_of_group<T>(desc.shape)),
      whole_(ConvPrimitive<T>::make(
          group_of(desc.shape, direction, std::min(images_, desc.shape.batch)), threads,
          *kernels_)),
      rest_(ConvPrimitive<T>::make(group_of(desc.shape, direction, desc.shape.batch % images_),
                                   threads, *kernels_)),
      z_bytes_(bytes_of<T>(images_ * desc.shape.in_channels * volume(desc.shape.in))) {
  const bool adds = direction == ConvDirection::backward_weights && desc.shape.batch > images_;
  if (adds) sums_bytes_ = bytes_of<T>(weights_of(desc.shape));
  workspace_ = z_bytes_ + sums_bytes_ + std::max(whole_.workspace(), rest_.workspace());
}

template <class T>
template <class Body>
void NormalizedImages<T>::for_groups(ThreadPool& pool, const NormalizedOperand<T>& from,
                                     Workspace workspace, Body&& body) const {
  auto* const memory = static_cast<std::byte*>(workspace.data);
  T* const z = reinterpret_cast<T*>(memory);
  const std::size_t before = z_bytes_ + sums_bytes_;
  const Workspace rest{memory + before, workspace.bytes - before};
  const Index channels = shape_.in_channels, plane = volume(shape_.in);
  // A batch of no images has a group too, which writes dw.
  for (Index image = 0; image == 0 || image < shape_.batch; image += images_) {
    const Index count = std::min(images_, shape_.batch - image);
    pool.for_chunks(count * channels, grain_of(plane, work_of_task), [&](Index i, Index last) {
      while (i < last) {
        const Index c = i % channels, some = std::min(channels - c, last - i);
        source_.read(from, {image + i / channels, c, some, 0, plane}, z + i * plane, plane);
        i += some;
      }
    });
    body(count == images_ || shape_.batch < images_ ? whole_ : rest_, image, z, rest);
  }
}

template <class T>
void NormalizedImages<T>::run(ThreadPool& pool, const NormalizedConvArgs<T>& args,
                              Workspace workspace) const {
  const Index result = shape_.out_channels * volume(shape_.out);
  for_groups(pool, source_.operand(pool, args, shape_.batch), workspace,
             [&](const auto& conv, Index image, const T* z, Workspace rest) {
               conv.run(pool, {.x = z, .w = args.w, .result = args.y + image * result}, rest);
             });
}

template <class T>
void NormalizedImages<T>::run(ThreadPool& pool, const ConvGradsArgs<T>& args) const {
  const Index result = shape_.out_channels * volume(shape_.out);
  T* const sums = reinterpret_cast<T*>(static_cast<std::byte*>(args.workspace.data) + z_bytes_);
  for_groups(pool, args.z(), args.workspace,
             [&](const auto& conv, Index image, const T* z, Workspace rest) {
               T* const to = image == 0 ? args.dw : sums;
               conv.run(pool, {.x = z, .dy = args.dy + image * result, .result = to}, rest);
               if (image == 0) return;
               add_groups(pool, tables_of<T>(*kernels_), sums, 1, weights_of(shape_), args.dw);
             });
}

template class NormalizedImages<float>;
template class NormalizedImages<double>;

template <class T>
ConvGradsEntry<T> normalized_images_grads() {
  constexpr auto supports = [](const ConvGradsDesc& desc, const SimdTables&) {
    return desc.normalized && !desc.all;
  };
  constexpr auto make =
      [](const ConvGradsDesc& desc,
         const SimdTables& kernels) -> std::unique_ptr<const Implementation<ConvGradsArgs<T>>> {
    return std::make_unique<NormalizedImages<T>>(NormalizedImagesDesc{desc.shape, desc.norm},
                                                 ConvDirection::backward_weights, desc.threads,
                                                 kernels);
  };
  return {"normalized_images", supports, make};
}
template ConvGradsEntry<float> normalized_images_grads();
template ConvGradsEntry<double> normalized_images_grads();

}  // namespace ondine::math
