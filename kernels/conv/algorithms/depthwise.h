// Helpers that the depthwise implementations share.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

// One channel of x and of y for each group, over planes; a depth that the window does not span is
// more planes.
inline bool is_depthwise(const ConvShape& s) {
  const bool flat = s.kernel[0] == 1 && s.stride[0] == 1 && s.pad[0] == 0 && s.in[0] == s.out[0];
  return flat && s.groups == s.in_channels && s.groups > 1 && s.out_channels == s.groups &&
         !is_empty(s);
}

inline constexpr std::int64_t depthwise_work = std::int64_t{1} << 17;  // multiplications of a task

// A depthwise convolution that can be run by blocks of channels, whose planes are then in a cache.
template <class T>
class DepthwiseConv : public ConvAlgorithm<T> {
 public:
  DepthwiseConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        direction_(desc.direction),
        plane_(plane_of(desc.shape)),
        in_(plane_.in_h * plane_.in_w),
        out_(plane_.out_h * plane_.out_w),
        taps_(volume(desc.shape.kernel)) {}

  // Convolves planes of adjacent channels, without a depth; block.channels is at most
  // block_channels(), unless that is 1. Operands begin with those of the first channel. `slot` has
  // slot_bytes().
  virtual void run_block(const ChannelBlock& block, const ConvArgs<T>& args,
                         std::byte* slot) const = 0;
  // How many channels are convolved at once.
  virtual std::int64_t block_channels() const { return 1; }
  std::size_t slot_bytes() const { return this->slot_bytes_; }

 protected:
  // The operands from channel c of an image on.
  ConvArgs<T> from(ConvArgs<T> args, std::int64_t image, std::int64_t c) const {
    const std::int64_t plane = image * this->shape_.groups + c;
    if (args.x) args.x += plane * in_;
    if (args.dy) args.dy += plane * out_;
    if (args.w) args.w += c * taps_;
    if (args.bias) args.bias += c;
    const bool by_weights = direction_ == ConvDirection::backward_weights;
    const bool forward = direction_ == ConvDirection::forward;
    args.result += by_weights ? c * taps_ : plane * (forward ? out_ : in_);
    return args;
  }

  ConvDirection direction_;
  ConvPlane plane_;
  std::int64_t in_, out_;  // elements of a plane
  std::int64_t taps_;
};

// The first depthwise implementation that supports the descriptor, and its name. `is_depthwise`
// holds for the shape.
template <class T>
struct MadeDepthwise {
  std::string_view name;
  std::unique_ptr<const DepthwiseConv<T>> conv;
};
template <class T>
MadeDepthwise<T> make_depthwise(const ConvDesc& desc, const SimdTables& kernels);
// The first of those that convolve one channel at a time.
template <class T>
MadeDepthwise<T> make_depthwise_of_planes(const ConvDesc& desc, const SimdTables& kernels);

}  // namespace ondine::math
