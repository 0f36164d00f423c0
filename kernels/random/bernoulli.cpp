// bernoulli.cpp — 1 with probability x, else 0, in attribute `dtype` or that of x. No derivative.
#include "kernels/common/convert_rows.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/random/random_rows.h"

namespace ondine::kernels::ops {
namespace {

using Drawn = Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t,
                    std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;

void infer(InferContext& context) {
  const auto same = static_cast<std::int64_t>(context.dtype(0));
  const std::int64_t code = context.attr_int("dtype", same);
  if (code <= 0 || code >= dtype_count) {
    fail(ErrorCode::invalid_model, "attribute \"dtype\" is ", code, ", needed: a dtype");
  }
  context.set_output(0, static_cast<DType>(code), context.input(0).dims);
}

Kernel bind(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  const std::size_t size = size_of(context.dtype(0));
  const ConvertRow read = row_to_double(context.dtype(0));
  const auto seed = seed_attribute(context);
  return visit(context.output_dtype(0), Drawn{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const RandomRun run = random_run(call, seed, n);
      T* y = call.out<T>(0);
      call.pool().for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
        for_random_bits(
            run, first, last, [&](std::int64_t i, std::int64_t count, const auto* bits) {
              double p[random_chunk];
              read(p, call.in<std::byte>(0) + static_cast<std::size_t>(i) * size, count);
              for (std::int64_t k = 0; k < count; ++k) {
                y[i + k] = store<T>(static_cast<compute_t<T>>(below(bits[k], p[k])));
              }
            });
      });
    };
  });
}

}  // namespace

extern const OpDef bernoulli{.name = "Bernoulli",
                             .infer = infer,
                             .bind = bind,
                             .traits = {.random = true},
                             .no_gradient = 1};

}  // namespace ondine::kernels::ops
