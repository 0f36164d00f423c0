#include "kernels/conv/primitives/normalized_depthwise.h"

namespace ondine::math {
namespace {

template <class T>
constexpr typename NormalizedDepthwiseGrad<T>::Entry list[] = {
    {"rows_3x3", &supports_rows_3x3, &make_rows_3x3<T>},
    {"planes", &supports_normalized_planes, &make_normalized_planes<T>},
};

template <class T>
using List = std::span<const typename NormalizedDepthwiseGrad<T>::Entry>;

template <class T>
const typename NormalizedDepthwiseGrad<T>::Entry& entry_for(const NormalizedDepthwiseDesc& desc,
                                                            const SimdTables& kernels) {
  if (!supports_normalized_planes(desc, kernels)) {
    fail(ErrorCode::unsupported,
         "a convolution of normalized planes needs a channel of x and of y for each group");
  }
  return first_supporting(List<T>(list<T>), desc, kernels);
}

}  // namespace

template <class T>
NormalizedDepthwiseGrad<T>::NormalizedDepthwiseGrad(const NormalizedDepthwiseDesc& desc,
                                                    int threads, const SimdTables& kernels)
    : NormalizedDepthwiseGrad(entry_for<T>(desc, without(kernels, ProductMode::bf16)), desc,
                              threads, without(kernels, ProductMode::bf16)) {}

template <class T>
NormalizedDepthwiseGrad<T>::NormalizedDepthwiseGrad(const NormalizedDepthwiseDesc& desc,
                                                    int threads, std::string_view name,
                                                    const SimdTables& kernels)
    : NormalizedDepthwiseGrad(
          supporting_by_name(List<T>(list<T>), name, desc, without(kernels, ProductMode::bf16)),
          desc, threads, without(kernels, ProductMode::bf16)) {}

template <class T>
NormalizedDepthwiseGrad<T>::NormalizedDepthwiseGrad(const Entry& entry,
                                                    const NormalizedDepthwiseDesc& desc,
                                                    int threads, const SimdTables& kernels)
    : name_(entry.name),
      isa_(isa_name(kernels)),
      implementation_(entry.make(desc, kernels)),
      workspace_(implementation_->workspace(threads)) {}

template class NormalizedDepthwiseGrad<float>;
template class NormalizedDepthwiseGrad<double>;

}  // namespace ondine::math
