#include "kernels/conv/algorithms/depthwise.h"

namespace ondine::math {

template <class T>
MadeDepthwise<T> make_depthwise(const ConvDesc& desc, const Kernels& kernels) {
  static constexpr ConvEntry<T> list[] = {
      {"depthwise_strips", &supports_depthwise_strips<T>, &make_depthwise_strips<T>},
      {"depthwise_channels", &supports_depthwise_channels<T>, &make_depthwise_channels<T>},
      {"depthwise_3x3", &supports_depthwise_3x3<T>, &make_depthwise_3x3<T>},
      {"depthwise_rows", &supports_depthwise_rows<T>, &make_depthwise_rows<T>},
  };
  const ConvEntry<T>& entry = first_supporting(std::span<const ConvEntry<T>>(list), desc, kernels);
  const ConvImplementation<T>* const made = entry.make(desc, kernels).release();
  return {entry.name,
          std::unique_ptr<const DepthwiseConv<T>>(static_cast<const DepthwiseConv<T>*>(made))};
}

template MadeDepthwise<float> make_depthwise(const ConvDesc&, const Kernels&);
template MadeDepthwise<double> make_depthwise(const ConvDesc&, const Kernels&);

}  // namespace ondine::math
