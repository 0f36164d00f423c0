// Depthwise convolutions plane by plane: depthwise_3x3 for the usual windows, depthwise_rows for
// any.
#include "core/stop.h"
#include "kernels/conv/algorithms/depthwise.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

template <class T>
class DepthwiseRowsConv final : public DepthwiseConv<T> {
 public:
  DepthwiseRowsConv(const ConvDesc& desc, const SimdTables& kernels,
                    const DepthwiseRowKernels<T>& table)
      : DepthwiseConv<T>(desc, kernels), table_(table), layers_(desc.shape.in[0]) {
    const ConvShape& s = desc.shape;
    const bool by_weights = direction_ == ConvDirection::backward_weights;
    tasks_ = by_weights ? s.groups : s.batch * s.groups * layers_;
    const Index elements = direction_ == ConvDirection::forward         ? out_
                           : direction_ == ConvDirection::backward_data ? in_
                                                                        : out_ * layers_ * s.batch;
    grain_ = grain_of(elements * taps_, depthwise_work);
    this->slot_bytes_ = bytes_of<std::byte>(table_.scratch_bytes(plane_));
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    this->for_tasks(pool, workspace, tasks_, grain_, [&](Index task, std::byte* slot) {
      if (direction_ == ConvDirection::backward_weights) {
        backward_weights(args, task, slot);
      } else {
        run_plane(args, task, slot);
      }
    });
  }

  void run_block(const ChannelBlock& b, const ConvArgs<T>& args, std::byte* slot) const override {
    if (direction_ == ConvDirection::backward_weights) {
      std::fill_n(args.result.plain(), b.channels * taps_, T{0});
    }
    for (Index image = 0; image < b.images; ++image) {
      for (Index c = 0; c < b.channels; ++c) {
        const Index x = image * b.x_image + c * in_, y = image * b.y_image + c * out_;
        if (direction_ == ConvDirection::backward_weights) {
          checkpoint(out_ * taps_ / 8);
          table_.backward_weights(plane_, args.x.plain() + x, args.dy + y,
                                  args.result.plain() + c * taps_, slot);
          continue;
        }
        const bool forward = direction_ == ConvDirection::forward;
        convolve(forward ? args.x.plain() + x : nullptr, forward ? nullptr : args.dy + y,
                 args.w.plain() + c * taps_, args.bias ? args.bias[c] : T{0},
                 args.result.plain() + (forward ? y : x), slot);
      }
    }
  }

 private:
  using DepthwiseConv<T>::direction_;
  using DepthwiseConv<T>::plane_;
  using DepthwiseConv<T>::in_;
  using DepthwiseConv<T>::out_;
  using DepthwiseConv<T>::taps_;

  void run_plane(const ConvArgs<T>& args, Index i, std::byte* slot) const {
    const Index channel = i / layers_ % this->shape_.groups;
    const T* const w = args.w.plain() + channel * taps_;
    const T bias = args.bias ? args.bias[channel] : T{0};
    convolve(args.x ? args.x.plain() + i * in_ : nullptr, args.dy ? args.dy + i * out_ : nullptr, w,
             bias, args.result.plain() + i * (direction_ == ConvDirection::forward ? out_ : in_),
             slot);
  }

  // A plane, forward or backward to x, in bands of rows of the result with checkpoints between.
  void convolve(const T* x, const T* dy, const T* w, T bias, T* result, std::byte* slot) const {
    const bool forward = direction_ == ConvDirection::forward;
    const Index width = forward ? plane_.out_w : plane_.in_w;
    for_pieces(
        forward ? plane_.out_h : plane_.in_h, 1 + width * taps_ / 64, [&](Index first, Index last) {
          ConvPlane band = plane_;
          if (forward) {
            band.out_h = last - first;
            band.pad_h -= first * plane_.stride_h;
            table_.forward(band, x, w, bias, this->activation_, result + first * width, slot);
          } else {
            band.in_h = last - first;
            band.pad_h += first;
            table_.backward_data(band, dy, w, bias, result + first * width, slot);
          }
        });
  }

  void backward_weights(const ConvArgs<T>& args, Index channel, std::byte* slot) const {
    T* const dw = args.result.plain() + channel * taps_;
    std::fill_n(dw, taps_, T{0});
    for (Index image = 0; image < this->shape_.batch; ++image) {
      for (Index layer = 0; layer < layers_; ++layer) {
        const Index i = (image * this->shape_.groups + channel) * layers_ + layer;
        checkpoint(out_ * taps_ / 8);
        table_.backward_weights(plane_, args.x.plain() + i * in_, args.dy + i * out_, dw, slot);
      }
    }
  }

  const DepthwiseRowKernels<T>& table_;
  Index layers_;  // planes of a channel
  Index tasks_, grain_;
};

}  // namespace

template <class T>
bool supports_depthwise_rows(const ConvDesc& desc, const SimdTables&) {
  return is_depthwise(desc.shape);
}

template <class T>
MadeConv<T> make_depthwise_rows(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<DepthwiseRowsConv<T>>(desc, kernels,
                                                *tables_of<T>(kernels).depthwise_rows);
}

template <class T>
bool supports_depthwise_3x3(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  const SpatialDims ones{1, 1, 1};
  return is_depthwise(s) && s.kernel == SpatialDims{1, 3, 3} && s.stride == ones &&
         s.dilation == ones && std::max(s.pad[1], s.pad[2]) <= 2 &&
         s.out[2] >= tables_of<T>(kernels).depthwise_channels->lanes;
}

template <class T>
MadeConv<T> make_depthwise_3x3(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<DepthwiseRowsConv<T>>(desc, kernels,
                                                *tables_of<T>(kernels).depthwise_3x3);
}

ONDINE_INSTANTIATE_CONV(depthwise_rows);
ONDINE_INSTANTIATE_CONV(depthwise_3x3);

}  // namespace ondine::math
