#include "kernels/quantize/dequantized_rows.h"

#include <algorithm>
#include <span>

#include "core/packed_elements.h"
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

// Packed elements are unpacked in pieces of this many.
constexpr std::int64_t longest_piece = 1024;

constexpr std::size_t level_count = 16;

}  // namespace

DequantizedRows::DequantizedRows(BindContext& context, Scratch& scratch, std::size_t first)
    : first_(first),
      element_size_(static_cast<std::int64_t>(size_of(context.dtype(first)))),
      levels_(context.attr_floats("levels")),
      packed_(is_packed_matrix(context)),
      dtype_(matrix_dtype(context, first)) {
  if (!context.has_input(first + 1)) {
    widen_ = row_to_float(dtype_);
    return;
  }
  const math::QuantizeKernels& rows = *math::simd_tables().quantize;
  if (is_signed(dtype_)) read_signed_ = rows.dequantize_i8;
  if (is_unsigned(dtype_)) read_unsigned_ = rows.dequantize_u8;
  granularity_.emplace(context, matrix_shape(context, first), context.shape(first + 1));
  if (!context.has_input(first + 2)) return;
  read_zero_points_ = row_to_float(dtype_);
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
  if (!packed_) return read_bytes(to, from, from.elements, 0, begin, end);
  const auto in_byte = static_cast<std::int64_t>(8 / packed_bits(dtype_));
  std::uint8_t elements[longest_piece + 8];
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t origin = at / in_byte * in_byte;  // where a byte starts
    const std::int64_t last = std::min(end, origin + longest_piece);
    unpack(elements, from.elements + origin / in_byte, last - origin);
    read_bytes(to + at - begin, from, reinterpret_cast<const std::byte*>(elements), origin, at,
               last);
    at = last;
  }
}

// Whole bytes: up to 3 elements more than `count`.
void DequantizedRows::unpack(std::uint8_t* to, const std::byte* packed, std::int64_t count) const {
  const std::size_t in_byte = 8 / packed_bits(dtype_);
  const std::size_t bytes = (static_cast<std::size_t>(count) + in_byte - 1) / in_byte;
  if (in_byte == 2) {
    const std::uint8_t sign = is_signed(dtype_) ? 8 : 0;
    math::simd_tables().quantize->unpack_4bits(to, reinterpret_cast<const std::uint8_t*>(packed),
                                               sign, static_cast<std::int64_t>(bytes));
  } else {
    ondine::unpack(dtype_, {packed, bytes}, std::as_writable_bytes(std::span(to, bytes * in_byte)));
  }
}

void DequantizedRows::read_bytes(float* to, const Source& from, const std::byte* elements,
                                 std::int64_t origin, std::int64_t begin, std::int64_t end) const {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(elements);
  granularity_->for_runs(
      begin, end, [&](std::int64_t at, std::int64_t n, std::int64_t scale, std::int64_t step) {
        float* const run = to + at - begin;
        if (!levels_.empty()) {
          math::simd_tables().quantize->look_up_levels(run, bytes + at - origin, levels_.data(),
                                                       from.scale + scale, step != 0, n);
          return;
        }
        const std::int64_t piece = from.zero_point != nullptr ? n : longest_run;
        for (std::int64_t done = 0; done < n; done += piece) {
          const std::uint8_t* const x = bytes + at + done - origin;
          const std::int64_t s = scale + done * step;
          const std::int64_t count = std::min(piece, n - done);
          const math::QuantizeParameters parameters{
              from.scale + s, from.zero_point != nullptr ? from.zero_point + s : no_zero_points,
              step != 0};
          if (read_signed_ != nullptr) {
            read_signed_(run + done, reinterpret_cast<const std::int8_t*>(x), parameters, count);
          } else {
            read_unsigned_(run + done, x, parameters, count);
          }
        }
      });
}

void check_dequantized(const InferContext& context, std::size_t first) {
  const DType dtype = matrix_dtype(context, first);
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
  if (!context.has_attr("levels")) return;
  const std::size_t levels = context.attr_floats("levels").size();
  if (levels != level_count || dtype != DType::uint4 || context.has_input(first + 2)) {
    context.reject(levels, " levels of ", dtype, ", needed: ", level_count,
                   " of uint4 without a zero point");
  }
}

namespace {

Val level_numbers(const ExpandContext& context, std::size_t first, Val elements) {
  const auto levels = context.attr_floats("levels");
  Builder& b = context.builder();
  const Val table =
      b.constant(Tensor::of<float>({static_cast<std::int64_t>(levels.size())}, levels));
  return graph::gather(table, graph::cast(elements, DType::int32), 0) *
         broadcastable(context, context.x(first + 1), elements);
}

}  // namespace

Val dequantize(const ExpandContext& context, std::size_t first) {
  if (!context.x(first + 1)) return graph::cast(context.x(first), DType::float32);
  const Val elements = unpacked_matrix(context, first);
  if (context.has_attr("levels")) return level_numbers(context, first, elements);
  Val zero_point = context.x(first + 2);
  if (zero_point && is_packed_matrix(context)) {
    zero_point = graph::cast(zero_point, elements.dtype());
  }
  return context.builder().node(
      "DequantizeLinear", {elements, context.x(first + 1), zero_point},
      {{"axis", context.attr_int("axis", 1)}, {"block_size", context.attr_int("block_size", 0)}});
}

}  // namespace ondine::kernels
