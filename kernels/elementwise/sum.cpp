// sum.cpp — Sum and Mean of any number of inputs: dx_i = dy, for Mean divided by their number.
// Broadcasting from version 8. 16-bit floats are added up as float.
#include "kernels/elementwise/unary.h"
#include "kernels/elementwise/variadic.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto total = [](auto a, auto b) { return a + b; };
constexpr auto divided = [](auto x, Params p) { return x / p.a; };

Kernel bind_sum(BindContext& context) {
  return bind_variadic(context,
                       pick_row<BinaryRows<total>>(compute_dtype(context.dtype(0)), FullFloats{}));
}

Kernel bind_mean(BindContext& context) {
  const DType dtype = compute_dtype(context.dtype(0));
  return bind_variadic(context, pick_row<BinaryRows<total>>(dtype, FullFloats{}),
                       pick_row<UnaryRows<divided>>(dtype, FullFloats{}),
                       {static_cast<float>(context.input_count())});
}

std::vector<Val> spread(GradContext& g, Val dy) {
  std::vector<Val> dx(g.input_count());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (g.wants(i)) dx[i] = graph::sum_to(dy, g.x(i));
  }
  return dx;
}

std::vector<Val> sum_grad(GradContext& g) { return spread(g, g.dy(0)); }
std::vector<Val> mean_grad(GradContext& g) {
  return spread(g, g.dy(0) / static_cast<double>(g.input_count()));
}

}  // namespace

extern const OpDef sum_op{
    .name = "Sum",
    .infer = infer_variadic,
    .bind = bind_sum,
    .grad = sum_grad,
    .traits = {.inplace = 3, .cheap = true, .commutative = true, .cannot_fail = true}};
extern const OpDef mean_op{.name = "Mean",
                           .infer = infer_variadic,
                           .bind = bind_mean,
                           .grad = mean_grad,
                           .traits = {.inplace = 3, .cheap = true, .commutative = true}};

}  // namespace ondine::kernels::ops
