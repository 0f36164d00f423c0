#include "kernels/quantize/float_rows.h"

#include "kernels/common/convert_rows.h"
#include "kernels/common/grain.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/quantize/granularity.h"
#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Scale and zero points of the inputs 1 and 2 of a call, the latter in scratch memory.
class Parameters {
 public:
  explicit Parameters(BindContext& context)
      : granularity_(context, context.shape(0), context.shape(1)), count_(context.shape(1).size()) {
    if (context.has_input(2)) read_ = row_to_float(context.dtype(2));
    Scratch scratch;
    offset_ = scratch.add<float>(count_);
    scratch.request(context);
  }

  // Calls body(i, n, parameters) for the rows of x, in chunks of the pool.
  template <class Body>
  void for_rows(KernelContext& call, std::int64_t elements, const Body& body) const {
    const auto* scale = call.in<float>(1);
    auto* zero = Scratch::at<float>(call, offset_);
    if (read_ != nullptr) {
      read_(zero, call.in<void>(2), count_);
    } else {
      std::fill_n(zero, count_, 0.0F);
    }
    call.pool().for_chunks(
        elements, math::elementwise_grain, [&](std::int64_t first, std::int64_t last) {
          granularity_.for_runs(
              first, last, [&](std::int64_t i, std::int64_t n, std::int64_t at, std::int64_t step) {
                body(i, n, math::QuantizeParameters{scale + at, zero + at, step != 0});
              });
        });
  }

 private:
  Granularity granularity_;
  std::int64_t count_;
  ConvertRow read_ = nullptr;
  std::size_t offset_ = 0;
};

template <class Y>
Kernel quantize(BindContext& context, math::QuantizeKernels::Quantize<Y> rows,
                math::QuantizeRange range) {
  const std::int64_t elements = context.shape(0).size();
  return [=, parameters = Parameters(context)](KernelContext& call) {
    const auto* x = call.in<float>(0);
    auto* y = call.out<Y>(0);
    parameters.for_rows(call, elements,
                        [&](std::int64_t i, std::int64_t n, const math::QuantizeParameters& p) {
                          rows(y + i, x + i, p, range, n);
                        });
  };
}

template <class X>
Kernel dequantize(BindContext& context, math::QuantizeKernels::Dequantize<X> rows) {
  const std::int64_t elements = context.shape(0).size();
  return [=, parameters = Parameters(context)](KernelContext& call) {
    const auto* x = call.in<X>(0);
    auto* y = call.out<float>(0);
    parameters.for_rows(call, elements,
                        [&](std::int64_t i, std::int64_t n, const math::QuantizeParameters& p) {
                          rows(y + i, x + i, p, n);
                        });
  };
}

const math::QuantizeKernels& rows_of(BindContext& context) {
  const math::SimdTables& kernels = math::simd_tables();
  context.set_implementation("quantize_rows", isa_name(kernels));
  return *kernels.quantize;
}

}  // namespace

Kernel bind_quantize_rows(BindContext& context, double lowest, double highest) {
  if (context.dtype(0) != DType::float32 || context.dtype(1) != DType::float32) return {};
  const math::QuantizeRange range{static_cast<float>(lowest), static_cast<float>(highest)};
  switch (context.output_dtype(0)) {
    case DType::uint8:
    case DType::int8:
    case DType::uint4:
    case DType::int4:
    case DType::uint2:
    case DType::int2:
      return quantize(context, rows_of(context).quantize_bytes, range);
    case DType::uint16:
    case DType::int16:
      return quantize(context, rows_of(context).quantize_words, range);
    default:
      return {};
  }
}

Kernel bind_dequantize_rows(BindContext& context) {
  if (context.dtype(1) != DType::float32 || context.output_dtype(0) != DType::float32) return {};
  switch (context.dtype(0)) {
    case DType::uint8:
    case DType::uint4:
    case DType::uint2:
      return dequantize(context, rows_of(context).dequantize_u8);
    case DType::int8:
    case DType::int4:
    case DType::int2:
      return dequantize(context, rows_of(context).dequantize_i8);
    case DType::uint16:
      return dequantize(context, rows_of(context).dequantize_u16);
    case DType::int16:
      return dequantize(context, rows_of(context).dequantize_i16);
    default:
      return {};
  }
}

}  // namespace ondine::kernels
