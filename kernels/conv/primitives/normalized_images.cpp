// images, normalized_images: see normalized_conv.h and conv_grads.h.
#include <algorithm>

#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/primitives/conv_primitive.h"
#include "kernels/conv/primitives/normalized_conv.h"
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

// A forward convolution, or with the Args of gradients that by the weights, of which the sums of
// groups of images are added in their order. Groups are the same for any number of threads.
template <class T, class Args>
class NormalizedImages final : public Implementation<Args> {
  static constexpr bool is_forward = std::is_same_v<Args, NormalizedConvArgs<T>>;

 public:
  template <class Desc>
  NormalizedImages(const Desc& desc, const SimdTables& kernels)
      : shape_(desc.shape),
        set_(tables_of<T>(kernels)),
        source_(desc.norm, shape_.in_channels, volume(shape_.in), kernels),
        images_(images_of_group<T>(shape_)),
        whole_(conv_of(std::min(images_, shape_.batch), desc.threads, kernels)),
        rest_(conv_of(shape_.batch % images_, desc.threads, kernels)),
        z_bytes_(bytes_of<T>(images_ * shape_.in_channels * volume(shape_.in))) {
    if (!is_forward && shape_.batch > images_) sums_bytes_ = bytes_of<T>(weights_of(shape_));
  }

  std::size_t workspace() const override {
    return z_bytes_ + sums_bytes_ + std::max(whole_.workspace(), rest_.workspace());
  }
  std::string_view isa(const SimdTables&) const override { return whole_.isa(); }
  std::string_view worker() const override { return whole_.name(); }

  void run(ThreadPool& pool, const Args& args) const override {
    const Index result = shape_.out_channels * volume(shape_.out);
    if constexpr (is_forward) {
      for_groups(pool, source_.operand(pool, args, shape_.batch), args.workspace,
                 [&](const auto& conv, Index image, const T* z, Workspace rest) {
                   conv.run(pool, {.x = z, .w = args.w, .result = args.y + image * result}, rest);
                 });
    } else {
      T* const sums = reinterpret_cast<T*>(static_cast<std::byte*>(args.workspace.data) + z_bytes_);
      for_groups(pool, args.z(), args.workspace,
                 [&](const auto& conv, Index image, const T* z, Workspace rest) {
                   T* const to = image == 0 ? args.dw : sums;
                   conv.run(pool, {.x = z, .dy = args.dy + image * result, .result = to}, rest);
                   if (image != 0) add_groups(pool, set_, sums, 1, weights_of(shape_), args.dw);
                 });
    }
  }

 private:
  ConvPrimitive<T> conv_of(Index images, int threads, const SimdTables& kernels) const {
    ConvDesc desc{.shape = shape_};
    desc.shape.batch = images;
    if (!is_forward) desc.direction = ConvDirection::backward_weights;
    return ConvPrimitive<T>::make(desc, threads, kernels);
  }

  // body(conv, first image, z, workspace of conv) for each group of images.
  template <class Body>
  void for_groups(ThreadPool& pool, const NormalizedOperand<T>& from, Workspace workspace,
                  Body&& body) const {
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

  ConvShape shape_;
  const SimdTablesOf<T>& set_;
  NormalizedSource<T> source_;
  Index images_;                   // of a group
  ConvPrimitive<T> whole_, rest_;  // of a group, and of the last one
  std::size_t z_bytes_, sums_bytes_ = 0;
};

bool takes_weights(const ConvGradsDesc& desc, const SimdTables&) {
  return desc.normalized && !desc.all;
}

}  // namespace

template <class T>
NormalizedConvEntry<T> normalized_images_conv() {
  using Args = NormalizedConvArgs<T>;
  return {"images", &supports_any<NormalizedConvDesc>,
          &make_implementation<NormalizedImages<T, Args>, NormalizedConvDesc, Args>};
}
template <class T>
ConvGradsEntry<T> normalized_images_grads() {
  using Args = ConvGradsArgs<T>;
  return {"normalized_images", &takes_weights,
          &make_implementation<NormalizedImages<T, Args>, ConvGradsDesc, Args>};
}
template NormalizedConvEntry<float> normalized_images_conv();
template NormalizedConvEntry<double> normalized_images_conv();
template ConvGradsEntry<float> normalized_images_grads();
template ConvGradsEntry<double> normalized_images_grads();

}  // namespace ondine::math
