// batch_mean.cpp — BatchMean (ai.ondine): (x, after) -> y, done. y is the mean of x over the parts
// of a batch, weighed by their rows, which other processes compute at the same time
// (core/random/row_scope.h); `after` and `done` are numbers without a meaning that put such nodes
// in the same order everywhere. With losses that are means over the parts, dx is the mean of dy,
// and `dafter` follows from `ddone`, so that derivatives have the reverse order.
#include <algorithm>
#include <array>

#include "core/random/row_scope.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::float32 && dtype != DType::float64) {
    fail(ErrorCode::invalid_model, "means over a batch of dtype ", dtype,
         ", needed: float or double");
  }
  context.set_output(0, context.input(0));
  context.set_output(1, DType::float32, Dims{});
}

template <class T>
void exchange(KernelContext& call, std::int64_t n) {
  const RowScope* const scope = RowScope::current();
  if (scope == nullptr || scope->rows().means == nullptr) {
    fail(ErrorCode::internal, "a mean over a batch outside of one that is computed in parts");
  }
  double* const values = call.workspace<double>();
  std::copy_n(call.in<T>(0), n, values);
  scope->rows().means->mean({values, static_cast<std::size_t>(n)});
  std::transform(values, values + n, call.out<T>(0),
                 [](double value) { return static_cast<T>(value); });
  if (float* const done = call.out<float>(1)) *done = 0;
}

Kernel bind(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  Scratch scratch;
  scratch.add<double>(n);
  scratch.request(context);
  return visit(context.dtype(0), Types<float, double>{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) { exchange<T>(call, n); };
  });
}

std::vector<Val> grad(GradContext& g) {
  const std::array<Val, 2> inputs{g.dy_or_zeros(0), g.dy(1)};
  const std::vector<Val> derivatives = g.builder().nodes(
      "BatchMean", std::span(inputs).first(g.dy(1) ? 2 : 1), {}, 2, ondine_domain);
  return {derivatives[0], g.wants(1) ? derivatives[1] : Val()};
}

}  // namespace

extern const OpDef batch_mean{
    .name = "BatchMean",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {.random = true}};  // each run counts: none is left out or added

}  // namespace ondine::kernels::ops
