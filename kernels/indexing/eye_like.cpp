// eye_like.cpp — ones on diagonal k of a matrix of the input's shape, zeros elsewhere, in attribute
// `dtype` or that of the input. No derivative.
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

using EyeTypes =
    Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
          std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;

void infer(InferContext& context) {
  const std::int64_t code = context.attr_int("dtype", static_cast<std::int64_t>(context.dtype(0)));
  if (code <= 0 || code >= dtype_count) {
    fail(ErrorCode::invalid_model, "attribute \"dtype\" is ", code, ", needed: a dtype");
  }
  if (context.ranked(0) && context.rank(0) != 2) {
    context.reject("input has rank ", context.rank(0), ", needed: 2");
  }
  context.set_output(0, static_cast<DType>(code),
                     context.ranked(0) ? context.dims(0) : Dims{Dim(), Dim()});
}

Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const std::int64_t k = context.attr_int("k", 0);
  return visit(context.output_dtype(0), EyeTypes{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      T* y = call.out<T>(0);
      std::fill_n(y, shape.size(), store<T>(0));
      if (k <= -shape[0] || k >= shape[1]) return;
      const std::int64_t first = std::max<std::int64_t>(0, -k);
      for (std::int64_t row = first; row < shape[0] && row + k < shape[1]; ++row) {
        y[row * shape[1] + row + k] = store<T>(1);
      }
    };
  });
}

}  // namespace

extern const OpDef eye_like{.name = "EyeLike",
                            .infer = infer,
                            .bind = bind,
                            .traits = {.shape_only = 1, .cheap = true},
                            .no_gradient = 1};

}  // namespace ondine::kernels::ops
