#include "kernels/conv/primitives/conv_grads.h"

namespace ondine::math {
namespace {

template <class T>
typename ConvGrads<T>::List list_for(const ConvGradsDesc& desc, const SimdTables& kernels) {
  static const ConvGradsEntry<T> list[] = {pointwise_grads<T>(), rows_3x3_grads<T>(),
                                           planes_grads<T>(), normalized_pointwise_grads<T>(),
                                           normalized_images_grads<T>()};
  for (const auto& entry : list) {
    if (entry.supports(desc, kernels)) return list;
  }
  fail(ErrorCode::unsupported, "gradients of a convolution together need ",
       !desc.all         ? "a normalization"
       : desc.normalized ? "a channel of x and of y for each group"
                         : "windows of one element");
}

}  // namespace

template <class T>
ConvGrads<T>::ConvGrads(const ConvGradsDesc& desc, const SimdTables& kernels)
    : Primitive<ConvGradsDesc, ConvGradsArgs<T>>(list_for<T>(desc, kernels), desc,
                                                 without(kernels, ProductMode::bf16)) {}

template <class T>
ConvGrads<T>::ConvGrads(const ConvGradsDesc& desc, std::string_view name, const SimdTables& kernels)
    : Primitive<ConvGradsDesc, ConvGradsArgs<T>>(list_for<T>(desc, kernels), name, desc,
                                                 without(kernels, ProductMode::bf16)) {}

template class ConvGrads<float>;
template class ConvGrads<double>;

}  // namespace ondine::math
