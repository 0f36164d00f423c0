#include "kernels/quantize/int8_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/convert_rows.h"
#include "kernels/matmul/fused_activation.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

ZeroPoints::ZeroPoints(BindContext& context, Scratch& scratch, std::size_t input, DType dtype,
                       bool as_signed)
    : input_(input),
      given_(context.has_input(input)),
      unsigned_(dtype == DType::uint8),
      shift_(as_signed ? (unsigned_ ? -128 : 0) : (unsigned_ ? 0 : 128)) {
  if (given_) count_ = context.shape(input).size();
  offset_ = scratch.add<std::int32_t>(count_);
}

const std::int32_t* ZeroPoints::read(KernelContext& call) const {
  auto* to = Scratch::at<std::int32_t>(call, offset_);
  for (std::int64_t i = 0; i < count_; ++i) {
    std::int32_t value = 0;
    if (given_)
      value = unsigned_ ? call.in<std::uint8_t>(input_)[i] : call.in<std::int8_t>(input_)[i];
    to[i] = value + shift_;
  }
  return to;
}

Int8Epilogue::Int8Epilogue(BindContext& context, Scratch& scratch, std::size_t first)
    : first_(first), quantizes_(context.has_input(first)) {
  if (!quantizes_) return;
  a_count_ = context.shape(first).size();
  b_count_ = context.shape(first + 1).size();
  signed_ = context.dtype(first + 3) == DType::int8;
  const math::Activation activation = ops::fused_activation(context);
  relu_ = activation != math::Activation::none;
  relu6_ = activation == math::Activation::relu6;
  offset_ = scratch.add<double>(a_count_ + b_count_ + 1);
  const ConvertRow a = row_to_double(context.dtype(first));
  const ConvertRow b = row_to_double(context.dtype(first + 1));
  const ConvertRow y = row_to_double(context.dtype(first + 2));
  read_scales_ = [=, this_a = a_count_, this_b = b_count_, at = offset_](KernelContext& call) {
    auto* to = Scratch::at<double>(call, at);
    a(to, call.in<void>(first), this_a);
    b(to + this_a, call.in<void>(first + 1), this_b);
    y(to + this_a + this_b, call.in<void>(first + 2), 1);
  };
}

Int8Epilogue::Values Int8Epilogue::read(KernelContext& call) const {
  Values v;
  if (!quantizes_) return v;
  read_scales_(call);
  v.a = Scratch::at<double>(call, offset_);
  v.b = v.a + a_count_;
  v.a_count = a_count_;
  v.b_count = b_count_;
  v.y = v.b[b_count_];
  v.zero_point =
      signed_ ? call.in<std::int8_t>(first_ + 3)[0] : call.in<std::uint8_t>(first_ + 3)[0];
  double lowest = (signed_ ? -128 : 0) - v.zero_point;
  double highest = (signed_ ? 127 : 255) - v.zero_point;
  if (relu_) lowest = std::max(lowest, 0.0);
  if (relu6_) highest = std::min(highest, std::nearbyint(6 / v.y));
  v.lowest = static_cast<float>(lowest);
  v.highest = static_cast<float>(highest);
  return v;
}

float Int8Epilogue::Values::finite(double scale) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (scale != scale) return 0;
  return static_cast<float>(std::clamp(scale, -largest, largest));
}

}  // namespace ondine::kernels
