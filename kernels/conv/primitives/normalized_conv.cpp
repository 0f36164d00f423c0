#include "kernels/conv/primitives/normalized_conv.h"

namespace ondine::math {
namespace {

template <class T>
typename NormalizedConv<T>::List list() {
  static const NormalizedConvEntry<T> entries[] = {
      normalized_depthwise_conv<T>(), normalized_pointwise_conv<T>(), normalized_images_conv<T>()};
  return entries;
}

}  // namespace

template <class T>
NormalizedConv<T>::NormalizedConv(const NormalizedConvDesc& desc, const SimdTables& kernels)
    : Primitive<NormalizedConvDesc, NormalizedConvArgs<T>>(list<T>(), desc,
                                                           without(kernels, ProductMode::bf16)) {}

template <class T>
NormalizedConv<T>::NormalizedConv(const NormalizedConvDesc& desc, std::string_view name,
                                  const SimdTables& kernels)
    : Primitive<NormalizedConvDesc, NormalizedConvArgs<T>>(list<T>(), name, desc,
                                                           without(kernels, ProductMode::bf16)) {}

template class NormalizedConv<float>;
template class NormalizedConv<double>;

}  // namespace ondine::math
