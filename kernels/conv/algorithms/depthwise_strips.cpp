// Depthwise convolutions by 3 x 3 taps, and 5 x 5 but for gradients by the weights: strips of
// columns that read planes where they lie. Stride 1 over planes of the size of their results or,
// forward by 3 x 3 taps, stride 2.
#include "kernels/conv/algorithms/depthwise.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class DepthwiseStrips final : public ConvImplementation<T> {
 public:
  DepthwiseStrips(const ConvDesc& desc, const Kernels& kernels)
      : desc_(desc),
        table_(*kernels.depthwise_strips),
        plane_(plane_of(desc.shape)),
        in_(volume(desc.shape.in)),
        out_(volume(desc.shape.out)),
        taps_(volume(desc.shape.kernel)) {}

  std::size_t workspace(int) const override { return 0; }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace) const override {
    if constexpr (sizeof(T) == sizeof(float)) {
      const Index batch = desc_.shape.batch, channels = desc_.shape.groups;
      if (desc_.direction == ConvDirection::backward_weights) {
        const Index grain = grain_of(batch * out_ * taps_, depthwise_work);
        return pool.for_chunks(channels, grain, [&](Index first, Index last) {
          for (Index c = first; c < last; ++c) backward_weights(args, c);
        });
      }
      const Index grain = grain_of(out_ * taps_, depthwise_work);
      pool.for_chunks(batch * channels, grain,
                      [&](Index first, Index last) { convolve(args, first, last); });
    }
  }

 private:
  // Planes [first, last) of all images.
  void convolve(const ConvArgs<T>& args, Index first, Index last) const {
    const Index channels = desc_.shape.groups;
    const bool flip = desc_.direction == ConvDirection::backward_data;
    const T* const source = flip ? args.dy : args.x;
    while (first < last) {
      const Index c = first % channels;
      const Index planes = std::min(last - first, channels - c);
      table_.forward(plane_, planes, flip, source + first * in_, args.w + c * taps_,
                     args.bias ? args.bias + c : nullptr, desc_.activation,
                     args.result + first * out_);
      first += planes;
    }
  }

  void backward_weights(const ConvArgs<T>& args, Index c) const {
    table_.backward_weights(plane_, desc_.shape.batch, desc_.shape.groups * in_, args.x + c * in_,
                            args.dy + c * in_, args.result + c * taps_);
  }

  ConvDesc desc_;
  const DepthwiseStripKernels& table_;
  ConvPlane plane_;
  Index in_, out_;  // elements of a plane
  Index taps_;
};

}  // namespace

template <class T>
bool supports_depthwise_strips(const ConvDesc& desc, const Kernels& kernels) {
  const ConvShape& s = desc.shape;
  if (sizeof(T) != sizeof(float) || kernels.depthwise_strips->lanes == 0) return false;
  const SpatialDims ones{1, 1, 1}, twos{1, 2, 2};
  const Index taps = s.kernel[1];
  // Of narrower planes, more lanes are idle than the taps pay for.
  const bool wide = 2 * s.in[2] >= kernels.depthwise_strips->lanes;
  const bool larger =
      taps == 5 && wide && s.stride == ones && desc.direction != ConvDirection::backward_weights;
  if (taps != 3 && !larger) return false;
  const bool strided = desc.direction == ConvDirection::forward && s.stride == twos;
  if (!strided && s.stride != ones) return false;
  // A plane should stay in a second cache while its strips are walked; other implementations of
  // stride 2 are so slow that larger ones pay.
  const Index max_bytes = (strided ? 4096 : 512) * 1024;
  if (volume(s.in) * Index{sizeof(T)} > max_bytes) return false;
  const SpatialDims out{1, divide_up(s.in[1], s.stride[1]), divide_up(s.in[2], s.stride[2])};
  return is_depthwise(s) && is_planar(s) && s.kernel == SpatialDims{1, taps, taps} &&
         s.dilation == ones && s.pad == SpatialDims{0, taps / 2, taps / 2} && s.out == out;
}

template <class T>
MadeConv<T> make_depthwise_strips(const ConvDesc& desc, const Kernels& kernels) {
  return std::make_unique<DepthwiseStrips<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(depthwise_strips);

}  // namespace ondine::math
