#include "kernels/conv/primitives/conv_primitive.h"

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

// A convolution along columns, as models of one spatial dim have where a dim of 1 follows it, as
// the same along rows: implementations walk along rows.
ConvDesc along_rows(ConvDesc desc) {
  ConvShape& s = desc.shape;
  const auto is_single = [&](std::size_t dim) {
    return s.in[dim] == 1 && s.kernel[dim] == 1 && s.out[dim] == 1 && s.pad[dim] == 0;
  };
  const auto shift = [](SpatialDims& dims) { dims = {1, dims[0], dims[1]}; };
  while (is_single(2) && !(is_single(0) && is_single(1))) {
    for (SpatialDims* dims : {&s.in, &s.kernel, &s.out, &s.stride, &s.dilation}) shift(*dims);
    s.pad = {0, s.pad[0], s.pad[1]};
  }
  return desc;
}

// They convolve a row of a plane, or add up a plane for the weights, without a checkpoint.
template <class T, auto supports>
bool supports_bounded(const ConvDesc& desc, const SimdTables& kernels) {
  constexpr double most = 1 << 28;  // multiplications
  const ConvShape& s = desc.shape;
  const auto real = [](const SpatialDims& dims) {
    double product = 1;
    for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
    return product;
  };
  return supports(desc, kernels) && real(s.out) * real(s.kernel) <= most;
}

}  // namespace

template <class T>
std::span<const ConvEntry<T>> conv_implementations() {
  static constexpr ConvEntry<T> list[] = {
      {"bias_only", &supports_bias_only<T>, &make_bias_only<T>},
      {"grouped", &supports_grouped<T>, &make_grouped<T>},
      {"direct", &supports_direct<T>, &make_direct<T>},
      {"winograd_panels", &supports_winograd_panels<T>, &make_winograd_panels<T>},
      {"winograd", &supports_winograd<T>, &make_winograd<T>},
      {"few_positions", &supports_few_positions<T>, &make_few_positions<T>},
      {"strided", &supports_strided<T>, &make_strided<T>},
      {"depthwise_strips", &supports_depthwise_strips<T>, &make_depthwise_strips<T>},
      {"depthwise_channels", &supports_bounded<T, supports_depthwise_channels<T>>,
       &make_depthwise_channels<T>},
      {"depthwise_3x3", &supports_depthwise_3x3<T>, &make_depthwise_3x3<T>},
      {"depthwise_rows", &supports_bounded<T, supports_depthwise_rows<T>>, &make_depthwise_rows<T>},
      {"pointwise", &supports_pointwise<T>, &make_pointwise<T>},
      {"joined_columns", &supports_joined_columns<T>, &make_joined_columns<T>},
      {"im2col", &supports_im2col<T>, &make_im2col<T>},
  };
  return list;
}

template <class T>
std::span<const ConvEntry<T>> lower_conv_implementations() {
  static constexpr ConvEntry<T> list[] = {
      {"shifted_bf16", &supports_shifted_bf16<T>, &make_shifted<T>},
      {"grouped_bf16", &supports_grouped_bf16<T>, &make_grouped<T>},
      {"strided_bf16", &supports_strided_bf16<T>, &make_strided<T>},
      {"winograd_panels_bf16", &supports_winograd_panels_bf16<T>, &make_winograd_panels<T>},
      {"winograd_bf16", &supports_winograd_bf16<T>, &make_winograd<T>},
      {"pointwise_bf16", &supports_pointwise_bf16<T>, &make_pointwise<T>},
      {"joined_columns_bf16", &supports_joined_columns_bf16<T>, &make_joined_columns<T>},
      {"im2col_bf16", &supports_im2col_bf16<T>, &make_im2col<T>},
  };
  return list;
}

template <class T>
ConvPrimitive<T>::ConvPrimitive(const ConvEntry<T>& entry, const ConvDesc& desc, int threads,
                                const SimdTables& kernels)
    : name_(entry.name),
      x_stored_(desc.x_stored),
      w_stored_(desc.w_stored),
      y_stored_(desc.y_stored),
      implementation_(entry.make(desc, kernels)),
      isa_(product_isa(kernels, implementation_->splits())),
      workspace_(implementation_->workspace(threads)) {
  if (desc.direction != ConvDirection::forward && desc.activation != Activation::none) {
    fail(ErrorCode::mismatch, "a gradient of a convolution has no activation");
  }
}

template <class T>
ConvPrimitive<T> ConvPrimitive<T>::make(const ConvDesc& given, int threads,
                                        const SimdTables& kernels) {
  const ConvDesc desc = along_rows(given);
  if (!keeps_float32<T>(desc, kernels)) {
    for (const ConvEntry<T>& lower : lower_conv_implementations<T>()) {
      if (lower.supports(desc, kernels)) return {lower, desc, threads, kernels};
    }
  }
  const SimdTables& full = without(kernels, ProductMode::bf16);
  return {first_supporting(conv_implementations<T>(), desc, full), desc, threads, full};
}

template <class T>
ConvPrimitive<T> ConvPrimitive<T>::make(const ConvDesc& given, int threads, std::string_view name,
                                        const SimdTables& kernels) {
  const ConvDesc desc = along_rows(given);
  for (const ConvEntry<T>& lower : lower_conv_implementations<T>()) {
    if (lower.name == name && lower.supports(desc, kernels)) return {lower, desc, threads, kernels};
  }
  return {supporting_by_name(conv_implementations<T>(), name, desc, kernels), desc, threads,
          kernels};
}

template std::span<const ConvEntry<float>> conv_implementations();
template std::span<const ConvEntry<double>> conv_implementations();
template std::span<const ConvEntry<float>> lower_conv_implementations();
template std::span<const ConvEntry<double>> lower_conv_implementations();
template class ConvPrimitive<float>;
template class ConvPrimitive<double>;

}  // namespace ondine::math
