// window_function.cpp — HannWindow, HammingWindow, BlackmanWindow: a sum of cosines of k / N, N
// being the size (periodic) or the size less one. No derivative.
#include <cmath>
#include <numbers>

#include "kernels/common/convert_rows.h"
#include "kernels/common/dtype_attribute.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

struct Cosines {
  double constant, once, twice;
};
constexpr Cosines hann{0.5, -0.5, 0};
constexpr Cosines hamming{25.0 / 46, -21.0 / 46, 0};
constexpr Cosines blackman{0.42, -0.5, 0.08};

std::int64_t checked_size(std::span<const std::int64_t> values) {
  if (values.size() != 1 || values[0] < 0) {
    fail(ErrorCode::mismatch, "size must be one number, 0 or more");
  }
  return values[0];
}

void infer(InferContext& context) {
  const DType dtype = number_attribute(context, "output_datatype", DType::float32);
  const IntegerParameter size(context, 0);
  context.set_output(0, dtype,
                     Dims{size.known() && size.given() ? Dim(checked_size(size.values())) : Dim()});
}

Kernel bind(BindContext& context, const Cosines& window) {
  const bool periodic = context.attr_int("periodic", 1) != 0;
  const IntegerParameter size(context, 0);
  const StoreNumber put = store_number(context.output_dtype(0));
  return [=, output = Output(context, 0)](KernelContext& call) {
    const std::int64_t n = checked_size(size.read(call));
    void* const y = output.memory(call, Shape{n});
    const std::int64_t period = periodic ? n : n - 1;
    call.pool().for_chunks(n, 4096, [&](std::int64_t first, std::int64_t last) {
      for (auto k = first; k < last; ++k) {
        const double angle = period == 0 ? std::numbers::pi
                                         : 2 * std::numbers::pi * static_cast<double>(k) /
                                               static_cast<double>(period);
        put(y, k,
            window.constant + window.once * std::cos(angle) + window.twice * std::cos(2 * angle));
      }
    });
  };
}

template <const Cosines& window>
Kernel bind_window(BindContext& context) {
  return bind(context, window);
}

}  // namespace

extern const OpDef hann_window{
    .name = "HannWindow", .infer = infer, .bind = bind_window<hann>, .no_gradient = any_input};
extern const OpDef hamming_window{.name = "HammingWindow",
                                  .infer = infer,
                                  .bind = bind_window<hamming>,
                                  .no_gradient = any_input};
extern const OpDef blackman_window{.name = "BlackmanWindow",
                                   .infer = infer,
                                   .bind = bind_window<blackman>,
                                   .no_gradient = any_input};

}  // namespace ondine::kernels::ops
