#include "kernels/quantize/dequantized_rows.h"

#include <algorithm>

#include "graph/contract/ops.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Runs without zero points read these.
constexpr std::int64_t longest_run = 256;
constexpr float no_zero_points[longest_run] = {};

bool is_signed(DType dtype) {
  return dtype == DType::int8 || dtype == DType::int4 || dtype == DType::int2;
}

bool is_unsigned(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint4 || dtype == DType::uint2;
}

}  // namespace

DequantizedRows::DequantizedRows(BindContext& context, Scratch& scratch, std::size_t first)
    : first_(first), element_size_(static_cast<std::int64_t>(size_of(context.dtype(first)))) {
  const DType dtype = context.dtype(first);
  if (!context.has_input(first + 1)) {
    widen_ = row_to_float(dtype);
    return;
  }
  const math::QuantizeKernels& rows = *math::kernels().quantize;
  if (is_signed(dtype)) read_signed_ = rows.dequantize_i8;
  if (is_unsigned(dtype)) read_unsigned_ = rows.dequantize_u8;
  granularity_.emplace(context, context.shape(first), context.shape(first + 1));
  if (!context.has_input(first + 2)) return;
  read_zero_points_ = row_to_float(dtype);
  scales_ = context.shape(first + 1).size();
  zeros_at_ = scratch.add<float>(scales_);
}

DequantizedRows::Source DequantizedRows::source(KernelContext& call) const {
  Source source{call.in<std::byte>(first_), nullptr, nullptr};
  if (widen_ != nullptr) return source;
  source.scale = call.in<float>(first_ + 1);
  if (read_zero_points_ == nullptr) return source;
  auto* zeros = Scratch::at<float>(call, zeros_at_);
  read_zero_points_(zeros, call.in<void>(first_ + 2), scales_);
  source.zero_point = zeros;
  return source;
}

void DequantizedRows::read(float* to, const Source& from, std::int64_t begin,
                           std::int64_t end) const {
  if (widen_ != nullptr) return widen_(to, from.elements + begin * element_size_, end - begin);
  granularity_->for_runs(
      begin, end, [&](std::int64_t at, std::int64_t n, std::int64_t scale, std::int64_t step) {
        const std::int64_t piece = from.zero_point != nullptr ? n : longest_run;
        for (std::int64_t done = 0; done < n; done += piece) {
          const std::int64_t i = at + done;
          const std::int64_t s = scale + done * step;
          const std::int64_t count = std::min(piece, n - done);
          const math::QuantizeParameters parameters{
              from.scale + s, from.zero_point != nullptr ? from.zero_point + s : no_zero_points,
              step != 0};
          if (read_signed_ != nullptr) {
            read_signed_(to + i - begin, reinterpret_cast<const std::int8_t*>(from.elements) + i,
                         parameters, count);
          } else {
            read_unsigned_(to + i - begin, reinterpret_cast<const std::uint8_t*>(from.elements) + i,
                           parameters, count);
          }
        }
      });
}

void check_dequantized(const InferContext& context, std::size_t first) {
  const DType dtype = context.dtype(first);
  if (!context.has_input(first + 1)) {
    if (dtype == DType::float16 || dtype == DType::bfloat16) return;
    context.reject("input ", first, " is ", dtype, " without a scale");
  }
  if (!is_signed(dtype) && !is_unsigned(dtype)) {
    context.reject("input ", first, " is ", dtype, ", needed: integers of up to 8 bits");
  }
  if (context.dtype(first + 1) != DType::float32) {
    context.reject("the scale is ", context.dtype(first + 1), ", needed: float32");
  }
  if (context.has_input(first + 2) && context.dtype(first + 2) != dtype) {
    context.reject("input ", first, " is ", dtype, ", its zero point ", context.dtype(first + 2));
  }
}

Val dequantize(const ExpandContext& context, std::size_t first) {
  if (!context.x(first + 1)) return graph::cast(context.x(first), DType::float32);
  return context.builder().node(
      "DequantizeLinear", {context.x(first), context.x(first + 1), context.x(first + 2)},
      {{"axis", context.attr_int("axis", 1)}, {"block_size", context.attr_int("block_size", 0)}});
}

}  // namespace ondine::kernels
