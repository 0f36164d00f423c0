#include "kernels/conv/algorithms/depthwise.h"

namespace ondine::math {
namespace {

template <class T>
constexpr ConvEntry<T> list[] = {
    {"depthwise_strips", &supports_depthwise_strips<T>, &make_depthwise_strips<T>},
    {"depthwise_channels", &supports_depthwise_channels<T>, &make_depthwise_channels<T>},
    {"depthwise_3x3", &supports_depthwise_3x3<T>, &make_depthwise_3x3<T>},
    {"depthwise_rows", &supports_depthwise_rows<T>, &make_depthwise_rows<T>},
};

template <class T>
MadeDepthwise<T> make_first(std::span<const ConvEntry<T>> entries, const ConvDesc& desc,
                            const SimdTables& kernels) {
  const ConvEntry<T>& entry = first_supporting(entries, desc, kernels);
  const ConvImplementation<T>* const made = entry.make(desc, kernels).release();
  return {entry.name,
          std::unique_ptr<const DepthwiseConv<T>>(static_cast<const DepthwiseConv<T>*>(made))};
}

}  // namespace

template <class T>
MadeDepthwise<T> make_depthwise(const ConvDesc& desc, const SimdTables& kernels) {
  return make_first<T>(list<T>, desc, kernels);
}

template <class T>
MadeDepthwise<T> make_depthwise_of_planes(const ConvDesc& desc, const SimdTables& kernels) {
  const std::span<const ConvEntry<T>> all(list<T>);
  const bool strips = supports_depthwise_strips<T>(desc, kernels);
  return make_first(strips ? all.first(1) : all.subspan(2), desc, kernels);
}

template MadeDepthwise<float> make_depthwise(const ConvDesc&, const SimdTables&);
template MadeDepthwise<double> make_depthwise(const ConvDesc&, const SimdTables&);
template MadeDepthwise<float> make_depthwise_of_planes(const ConvDesc&, const SimdTables&);
template MadeDepthwise<double> make_depthwise_of_planes(const ConvDesc&, const SimdTables&);

}  // namespace ondine::math
