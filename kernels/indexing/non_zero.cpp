// non_zero.cpp — the indices of the elements that are not zero (nor false, nor empty), one column
// each, in row-major order. No derivative.
#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

using AnyTypes = Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t,
                       std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                       bool, std::string, std::complex<float>, std::complex<double>>;

template <class T>
bool is_set(const T& x) {
  if constexpr (std::is_same_v<T, std::string>) {
    return !x.empty();
  } else {
    return load(x) != compute_t<T>(0);
  }
}

void infer(InferContext& context) {
  const Dim rank = context.ranked(0) ? Dim(static_cast<std::int64_t>(context.rank(0))) : Dim();
  context.set_output(0, DType::int64, Dims{rank, Dim()});
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::int64_t n = x.size();
  const Output output(context, 0);
  return visit(context.dtype(0), AnyTypes{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const T* values = call.in<T>(0);
      std::int64_t found = 0;
      for (std::int64_t i = 0; i < n; ++i) found += is_set(values[i]) ? 1 : 0;
      auto* y =
          output.memory<std::int64_t>(call, Shape{static_cast<std::int64_t>(x.rank()), found});
      std::int64_t column = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        if (i % 4096 == 0) checkpoint(16 * 4096);
        if (!is_set(values[i])) continue;
        std::int64_t rest = i;
        for (std::size_t a = x.rank(); a-- > 0;) {
          y[static_cast<std::int64_t>(a) * found + column] = rest % x[a];
          rest /= x[a];
        }
        ++column;
      }
    };
  });
}

}  // namespace

extern const OpDef non_zero{.name = "NonZero", .infer = infer, .bind = bind, .no_gradient = 1};

}  // namespace ondine::kernels::ops
