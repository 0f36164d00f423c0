#include "kernels/recurrent/quantized_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/quantize/int8_operands.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels {
namespace {

// The least and the greatest of n numbers and 0, in several chains that vectors hold.
template <class C>
std::pair<C, C> range_of(const C* x, std::int64_t n) {
  constexpr std::int64_t chains = 16;
  C low[chains] = {}, high[chains] = {};
  const std::int64_t whole = n / chains * chains;
  for (std::int64_t i = 0; i < whole; i += chains) {
    for (std::int64_t k = 0; k < chains; ++k) {
      low[k] = x[i + k] < low[k] ? x[i + k] : low[k];
      high[k] = x[i + k] > high[k] ? x[i + k] : high[k];
    }
  }
  for (std::int64_t i = whole; i < n; ++i) {
    low[0] = std::min(low[0], x[i]);
    high[0] = std::max(high[0], x[i]);
  }
  return {*std::min_element(low, low + chains), *std::max_element(high, high + chains)};
}

constexpr std::int32_t shift = 128;  // from unsigned to signed numbers

}  // namespace

template <class C>
ByteRounding<C> ByteRounding<C>::of(const C* x, std::int64_t n) {
  const auto [low, high] = range_of(x, n);
  const C scale = (high - low) / 255;
  if (!(scale > 0)) return {};
  const C point = std::nearbyint(-low / scale);
  return {scale, point > 0 ? static_cast<std::int32_t>(std::min(point, C{255})) : 0};
}

template <class C>
void ByteRounding<C>::quantize(std::int8_t* to, const C* x, std::int64_t n) const {
  const auto point = static_cast<C>(zero_point - shift);
  if constexpr (std::is_same_v<C, float>) {
    math::simd_tables().quantize->quantize_bytes(reinterpret_cast<std::uint8_t*>(to), x,
                                                 {&scale, &point, false}, {-128, 127}, n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const C q = std::nearbyint(x[i] / scale) + point;
      to[i] = static_cast<std::int8_t>(std::isnan(q) ? point : std::clamp(q, C{-128}, C{127}));
    }
  }
}

template <class C>
void ByteRounding<C>::dequantize(C* to, const std::int8_t* from, std::int64_t n) const {
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<C>(from[i] + shift - zero_point) * scale;
  }
}

template <class C>
QuantizedWeights<C>::QuantizedWeights(const graph::BindContext& context, Scratch& scratch,
                                      const Inputs& inputs)
    : gemm_(math::int8_gemm_implementations(math::simd_tables()).first),
      inputs_(inputs),
      directions_(context.shape(inputs.weights)[0]),
      k_(context.shape(inputs.weights)[1]),
      n_(context.shape(inputs.weights)[2]),
      flip_(flip_to_unsigned(context.dtype(inputs.weights))),
      each_scale_(context.rank(inputs.scale) == 2),
      each_point_(context.rank(inputs.zero_point) == 2),
      packed_(*gemm_, k_, n_, flip_),
      scale_(context, scratch, inputs.scale) {
  points_at_ = scratch.add<std::int32_t>(width());
  scales_at_ = scratch.add<C>(width());
  const Tensor* weights = context.constant(inputs.weights);
  if (weights == nullptr) {
    packed_at_ = scratch.add_bytes(packed_.bytes());
    return;
  }
  const auto bytes = static_cast<std::int64_t>(packed_.bytes());
  constant_ = std::make_shared<Tensor>(DType::uint8, Shape{checked_mul(directions_, bytes)});
  auto* to = static_cast<std::byte*>(constant_->mutable_data());
  const auto* from = static_cast<const std::uint8_t*>(weights->data());
  for (std::int64_t d = 0; d < directions_; ++d) {
    packed_.pack(to + d * bytes, from + d * k_ * n_, n_, 1);
  }
}

template <class C>
typename QuantizedWeights<C>::Direction QuantizedWeights<C>::prepare(graph::KernelContext& call,
                                                                     std::int64_t d) const {
  auto* const points = Scratch::at<std::int32_t>(call, points_at_);
  auto* const scales = Scratch::at<C>(call, scales_at_);
  const auto* given = call.in<std::uint8_t>(inputs_.zero_point) + d * (each_point_ ? n_ : 1);
  const C* scale = scale_(call) + d * (each_scale_ ? n_ : 1);
  for (std::int64_t j = 0; j < n_; ++j) {
    points[j] = given[each_point_ ? j : 0] ^ flip_;
    scales[j] = scale[each_scale_ ? j : 0];
  }
  if (constant_) {
    const auto* all = static_cast<const std::byte*>(constant_->data());
    return {all + static_cast<std::size_t>(d) * packed_.bytes(), points, scales};
  }
  auto* to = Scratch::at<std::byte>(call, packed_at_);
  packed_.pack(to, call.in<std::uint8_t>(inputs_.weights) + d * k_ * n_, n_, 1);
  return {to, points, scales};
}

template <class C>
void QuantizedWeights<C>::multiply(const Direction& direction, const Rows& rows, std::int64_t first,
                                   std::int64_t last, std::int32_t* sums, C* const* to,
                                   bool add) const {
  const std::int64_t columns = last - first;
  const std::int32_t point = rows.rounding.zero_point - shift;
  const C* const scales = direction.scales + first;
  gemm_->run({rows.count, columns, k_, rows.data, k_, packed_.panels(direction.packed, first),
              sums + first, width()});
  for (std::int64_t i = 0; i < rows.count; ++i) {
    std::int32_t* const row = sums + i * width() + first;
    const std::int8_t* const a = rows.data + i * k_;
    const std::int32_t total =
        gemm_->sign_row(nullptr, reinterpret_cast<const std::uint8_t*>(a), k_, 0);
    const auto centred = static_cast<std::int32_t>(total - k_ * point);
    gemm_->add_scaled(row, -point, packed_.sums(direction.packed) + first, columns);
    gemm_->add_scaled(row, -centred, direction.zero_points + first, columns);
    C* const y = to[i] + first;
    const C scale = rows.rounding.scale;
    if (add) {
      for (std::int64_t j = 0; j < columns; ++j)
        y[j] += static_cast<C>(row[j]) * (scale * scales[j]);
    } else {
      for (std::int64_t j = 0; j < columns; ++j)
        y[j] = static_cast<C>(row[j]) * (scale * scales[j]);
    }
  }
}

template struct ByteRounding<float>;
template struct ByteRounding<double>;
template class QuantizedWeights<float>;
template class QuantizedWeights<double>;

}  // namespace ondine::kernels
