// Where convolutions of lower precision pay.
#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

constexpr std::int64_t least = 16;           // of each dim of a product
constexpr std::int64_t least_gathered = 64;  // output channels for which strided columns pay
// Channels up to which multiplying what lies under strided windows costs less than transforming it,
// and terms below which gathering it does.
constexpr std::int64_t most_strided = 32;
constexpr std::int64_t least_strided = 64;

// Products in tiles are so fast that gradients by the weights cost less without transforming
// factors and results.
template <class T>
bool prefers_columns(const ConvDesc& desc, const SimdTables& kernels) {
  return rounds_in_tiles(kernels) && desc.direction == ConvDirection::backward_weights &&
         (supports_joined_columns_bf16<T>(desc, kernels) || supports_im2col_bf16<T>(desc, kernels));
}

// Where pairs in vectors are slower than float32, a set has the kernels of full precision for
// groups.
bool rounds_groups(const SimdTables& kernels) {
  return kernels.f32.grouped_conv != without(kernels, ProductMode::bf16).f32.grouped_conv;
}
bool rounds_strided(const SimdTables& kernels) {
  return kernels.f32.strided_conv != without(kernels, ProductMode::bf16).f32.strided_conv;
}

}  // namespace

template <class T>
bool keeps_float32(const ConvDesc& desc, const SimdTables& kernels) {
  return rounds_factors<T>(kernels) && !rounds_groups(kernels) &&
         supports_grouped<T>(desc, kernels) && !supports_shifted_bf16<T>(desc, kernels);
}
template bool keeps_float32<float>(const ConvDesc&, const SimdTables&);
template bool keeps_float32<double>(const ConvDesc&, const SimdTables&);

// Gradients by the weights pair images.
template <class T>
bool supports_grouped_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  if (desc.direction == ConvDirection::backward_weights && desc.shape.batch == 1) return false;
  return rounds_factors<T>(kernels) && rounds_groups(kernels) && supports_grouped<T>(desc, kernels);
}

template <class T>
bool supports_winograd_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  return rounds_factors<T>(kernels) && supports_winograd<T>(desc, kernels) &&
         !supports_direct<T>(desc, kernels) && !prefers_columns<T>(desc, kernels);
}

template <class T>
bool supports_winograd_panels_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  return supports_winograd_bf16<T>(desc, kernels) && supports_winograd_panels<T>(desc, kernels);
}

template <class T>
bool supports_pointwise_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  const std::int64_t positions = s.batch * volume(s.out);  // few of an image are joined
  const std::int64_t smallest = std::min({s.in_channels, s.out_channels, positions});
  return rounds_factors<T>(kernels) && smallest >= least && s.groups == 1 &&
         supports_pointwise<T>(desc, kernels);
}

// Columns are gathered in float32 and rounded while they are packed.
template <class T>
bool supports_joined_columns_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  return rounds_factors<T>(kernels) && supports_joined_columns<T>(desc, kernels) &&
         !supports_direct<T>(desc, kernels) &&
         (desc.shape.out_channels >= least_gathered || !supports_strided<T>(desc, kernels));
}

template <class T>
bool supports_im2col_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  if (!rounds_factors<T>(kernels) || is_empty(s)) return false;
  const std::int64_t depth = s.in_channels / s.groups * volume(s.kernel);
  if (std::min({depth, s.out_channels / s.groups, volume(s.out)}) < least) return false;
  if (supports_direct<T>(desc, kernels)) return false;
  return s.out_channels >= least_gathered || !supports_strided<T>(desc, kernels);
}

template <class T>
bool supports_strided_bf16(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  if (desc.direction != ConvDirection::forward || !rounds_factors<T>(kernels)) return false;
  if (!rounds_strided(kernels) || !supports_strided<T>(desc, kernels)) return false;
  if (s.in_channels > most_strided && supports_winograd_bf16<T>(desc, kernels)) return false;
  return s.in_channels * volume(s.kernel) >= least_strided ||
         !supports_im2col_bf16<T>(desc, kernels);
}

#define ONDINE_INSTANTIATE(name)                                                   \
  template bool supports_##name##_bf16<float>(const ConvDesc&, const SimdTables&); \
  template bool supports_##name##_bf16<double>(const ConvDesc&, const SimdTables&)
ONDINE_INSTANTIATE(grouped);
ONDINE_INSTANTIATE(winograd_panels);
ONDINE_INSTANTIATE(winograd);
ONDINE_INSTANTIATE(pointwise);
ONDINE_INSTANTIATE(strided);
ONDINE_INSTANTIATE(joined_columns);
ONDINE_INSTANTIATE(im2col);
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
