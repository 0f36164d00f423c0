// relu.cpp — y = max(x, 0);  dx = dy where y > 0, so x may be freed.
#include "kernels/ops/convert.h"
#include "kernels/ops/op.h"

namespace ondine::kernels::ops {
namespace {

using Types = kernels::Types<float, double, float16, bfloat16, std::int8_t, std::int16_t,
                             std::int32_t, std::int64_t>;

Kernel bind(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  return visit(context.dtype(0), Types{}, [&]<class T>() -> Kernel {
    return [n](KernelContext& call) {
      const T* x = call.in<T>(0);
      T* y = call.out<T>(0);
      call.pool().for_chunks(n, 16384, [&](std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) {
          const auto v = load(x[i]);
          y[i] = store<T>(v < 0 ? compute_t<T>(0) : v);  // NaN stays NaN
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val y = g.y(0);
  return {where(greater(y, scalar_like(y, 0)), g.dy(0), scalar_like(y, 0))};
}

}  // namespace

const OpDef relu{.name = "Relu",
                 .infer = infer_same_as_input,
                 .bind = bind,
                 .grad = grad,
                 .facts = {.inplace = 1, .cheap = true}};

}  // namespace ondine::kernels::ops
