// quantize_linear.cpp — y = saturate(round(x / scale) + zero point), ties to even; for float8 and
// float4 targets x / scale + zero point, rounded to the format. Version 10 has one scale, 13 adds
// axes, 19 float8 and `saturate`, 21 blocks, 16- and 4-bit integers and `output_dtype`, 23 float4
// and `precision`, 24 scales of float8e8m0, 25 2-bit integers. Integers and float8 carry no
// derivative; DequantizeLinear passes it to x (see there).
// QuantizeMask (ai.ondine): 1 where y is not saturated, else 0, in the dtype of x.
#include <cmath>
#include <limits>

#include "core/float_formats.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/dtype_attribute.h"
#include "kernels/common/op.h"
#include "kernels/quantize/float_rows.h"
#include "kernels/quantize/granularity.h"

namespace ondine::kernels::ops {
namespace {

// Type and range of y. Integers are rounded to whole numbers first.
struct Target {
  DType dtype = DType::undefined;
  bool integer = true;
  double lowest = 0;
  double highest = 0;
};

Target target_of(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return {dtype, true, 0, 255};
    case DType::int8:
      return {dtype, true, -128, 127};
    case DType::uint16:
      return {dtype, true, 0, 65535};
    case DType::int16:
      return {dtype, true, -32768, 32767};
    case DType::uint4:
      return {dtype, true, 0, 15};
    case DType::int4:
      return {dtype, true, -8, 7};
    case DType::uint2:
      return {dtype, true, 0, 3};
    case DType::int2:
      return {dtype, true, -2, 1};
    case DType::float8e4m3fn:
      return {dtype, false, -448, 448};
    case DType::float8e4m3fnuz:
      return {dtype, false, -240, 240};
    case DType::float8e5m2:
    case DType::float8e5m2fnuz:
      return {dtype, false, -57344, 57344};
    case DType::float4e2m1:
      return {dtype, false, -6, 6};
    default:
      fail(ErrorCode::mismatch, "no quantization to dtype ", dtype);
  }
}

Target target_of(const NodeView& node, DType zero_point) {
  const DType wanted = dtype_attribute(node, "output_dtype");
  if (wanted != DType::undefined && zero_point != DType::undefined && wanted != zero_point) {
    fail(ErrorCode::mismatch, "output_dtype is ", wanted, ", the zero point has ", zero_point);
  }
  if (zero_point != DType::undefined) return target_of(zero_point);
  return target_of(wanted != DType::undefined ? wanted : DType::uint8);
}

// The dtype in which x is divided by the scale.
DType division_dtype(const NodeView& node, DType x, DType scale) {
  const DType wanted = dtype_attribute(node, "precision");
  const DType dtype = wanted != DType::undefined ? wanted
                      : is_differentiable(scale) ? scale
                      : is_differentiable(x)     ? x
                                                 : DType::float64;
  if (!is_differentiable(dtype)) {
    fail(ErrorCode::mismatch, "no division in dtype ", dtype);
  }
  return dtype;
}

double round_to(DType dtype, double x) {
  switch (dtype) {
    case DType::float32:
      return static_cast<double>(static_cast<float>(x));
    case DType::float16:
      return static_cast<double>(to_float(to_float16(round_to_odd(x))));
    case DType::bfloat16:
      return static_cast<double>(to_float(to_bfloat16(round_to_odd(x))));
    default:
      return x;
  }
}

// Saturates to the target's range where the conversion to its format does not.
void store_row(const Target& target, bool saturating, void* y, const double* v, std::int64_t n) {
  const auto each = [&]<class T>(T* to, auto convert) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert(v[i]);
  };
  const auto byte = [](double x) { return static_cast<std::uint8_t>(static_cast<std::int8_t>(x)); };
  switch (target.dtype) {
    case DType::uint8:
      return each(static_cast<std::uint8_t*>(y),
                  [](double x) { return static_cast<std::uint8_t>(x); });
    case DType::int8:
    case DType::uint4:
    case DType::int4:
    case DType::uint2:
    case DType::int2:
      return each(static_cast<std::uint8_t*>(y), byte);
    case DType::uint16:
      return each(static_cast<std::uint16_t*>(y),
                  [](double x) { return static_cast<std::uint16_t>(x); });
    case DType::int16:
      return each(static_cast<std::int16_t*>(y),
                  [](double x) { return static_cast<std::int16_t>(x); });
    case DType::float8e4m3fn:
      return each(static_cast<float8e4m3fn*>(y),
                  [&](double x) { return to_float8e4m3fn(x, saturating); });
    case DType::float8e4m3fnuz:
      return each(static_cast<float8e4m3fnuz*>(y),
                  [&](double x) { return to_float8e4m3fnuz(x, saturating); });
    case DType::float8e5m2:
      return each(static_cast<float8e5m2*>(y),
                  [&](double x) { return to_float8e5m2(x, saturating); });
    case DType::float8e5m2fnuz:
      return each(static_cast<float8e5m2fnuz*>(y),
                  [&](double x) { return to_float8e5m2fnuz(x, saturating); });
    default:
      return each(static_cast<float4e2m1*>(y), [](double x) { return to_float4e2m1(x); });
  }
}

Target check(const InferContext& context) {
  if (context.version() < 19 && context.has_input(2) && !is_integer(context.dtype(2))) {
    context.reject("no quantization to dtype ", context.dtype(2), " before version 19");
  }
  check_granularity(context);
  division_dtype(context, context.dtype(0), context.dtype(1));
  return target_of(context, context.has_input(2) ? context.dtype(2) : DType::undefined);
}

void infer(InferContext& context) {
  context.set_output(0, check(context).dtype, context.input(0).dims);
}

void infer_mask(InferContext& context) {
  check(context);
  context.set_output(0, context.input(0));
}

// An input of any number type as doubles in scratch memory.
class Doubles {
 public:
  Doubles(const BindContext& context, Scratch& scratch, std::size_t input) : input_(input) {
    if (!context.has_input(input)) return;
    convert_ = row_to_double(context.dtype(input));
    count_ = context.shape(input).size();
    offset_ = scratch.add<double>(count_);
  }
  const double* operator()(KernelContext& call) const {
    if (convert_ == nullptr) return nullptr;
    auto* to = Scratch::at<double>(call, offset_);
    convert_(to, call.in<void>(input_), count_);
    return to;
  }

 private:
  std::size_t input_;
  ConvertRow convert_ = nullptr;
  std::int64_t count_ = 0;
  std::size_t offset_ = 0;
};

template <bool mask>
Kernel bind(BindContext& context) {
  const Target target =
      target_of(context, context.has_input(2) ? context.dtype(2) : DType::undefined);
  const DType dtype = context.dtype(0);
  const DType division = division_dtype(context, dtype, context.dtype(1));
  if (!mask && target.integer && division == DType::float32) {
    Kernel rows = bind_quantize_rows(context, target.lowest, target.highest);
    if (rows) return rows;
  }
  const bool saturating = context.attr_int("saturate", 1) != 0;
  const Granularity granularity(context, context.shape(0), context.shape(1));
  const std::int64_t n = context.shape(0).size();
  const ConvertRow read = row_to_double(dtype);
  const auto write = mask ? write_row<double>(dtype) : nullptr;
  const auto in_size = static_cast<std::int64_t>(size_of(dtype));
  const auto out_size = static_cast<std::int64_t>(size_of(context.output_dtype(0)));
  Scratch scratch;
  const Doubles scale(context, scratch, 1);
  const Doubles zero(context, scratch, 2);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* s = scale(call);
    const double* z = zero(call);
    const auto* x = call.in<std::byte>(0);
    auto* y = call.out<std::byte>(0);
    constexpr std::int64_t width = 512;
    call.pool().for_chunks(n, 16 * width, [&](std::int64_t first, std::int64_t last) {
      double in[width];
      double out[width];
      for (auto at = first; at < last; at += width) {
        const std::int64_t end = std::min(at + width, last);
        read(in, x + at * in_size, end - at);
        granularity.for_elements(at, end, [&](std::int64_t i, std::int64_t k) {
          double v = round_to(division, round_to(division, in[i - at]) / round_to(division, s[k]));
          if (target.integer) v = v != v ? 0 : std::nearbyint(v);
          if (z != nullptr) v += z[k];
          if (mask) {
            out[i - at] = v >= target.lowest && v <= target.highest ? 1 : 0;
          } else {
            out[i - at] = target.integer ? std::min(std::max(v, target.lowest), target.highest) : v;
          }
        });
        if (!mask) {
          store_row(target, saturating, y + at * out_size, out, end - at);
        } else if (write != nullptr) {
          write(y + at * out_size, out, end - at);
        } else {
          std::copy_n(out, end - at, reinterpret_cast<double*>(y) + at);
        }
      }
    });
  };
}

}  // namespace

extern const OpDef quantize_linear{
    .name = "QuantizeLinear", .infer = infer, .bind = bind<false>, .no_gradient = any_input};
extern const OpDef quantize_mask{.name = "QuantizeMask",
                                 .domain = ondine_domain,
                                 .infer = infer_mask,
                                 .bind = bind<true>,
                                 .no_gradient = any_input};

}  // namespace ondine::kernels::ops
