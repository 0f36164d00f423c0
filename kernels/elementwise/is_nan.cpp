// is_nan.cpp — IsNaN, IsInf: bool of each float. No derivative. Version 20 adds the float8 formats,
// IsInf-20 the 16-bit ones.
#include <cmath>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto nan_at = [](auto x, Params) { return std::isnan(x); };
constexpr auto infinite_at = [](auto x, Params p) {
  return std::isinf(x) && (x > 0 ? p.a : p.b) != 0;
};

void infer(InferContext& context) {
  Type type = context.input(0);
  type.dtype = DType::boolean;
  context.set_output(0, type);
}

Kernel bind_inf(BindContext& context) {
  const auto detect = [&](std::string_view name) {
    return context.attr_int(name, 1) != 0 ? 1.0F : 0.0F;
  };
  return bind_unary<infinite_at>(context, FullFloats{},
                                 {detect("detect_positive"), detect("detect_negative")});
}

}  // namespace

extern const OpDef is_nan{.name = "IsNaN",
                          .infer = infer,
                          .bind = bind_unary_op<nan_at>,
                          .traits = {.cheap = true},
                          .no_gradient = 1};
extern const OpDef is_inf{
    .name = "IsInf", .infer = infer, .bind = bind_inf, .traits = {.cheap = true}, .no_gradient = 1};

}  // namespace ondine::kernels::ops
