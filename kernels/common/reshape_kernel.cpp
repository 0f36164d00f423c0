#include "kernels/common/reshape_kernel.h"

#include "kernels/common/kernel_output.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

Kernel bind_reshape(BindContext& context, const IntegerParameter& parameter,
                    const ReshapedShape& output_shape) {
  const DType dtype = context.dtype(0);
  const std::int64_t n = context.shape(0).size();
  const Output output(context, 0);
  const auto copy = [=](KernelContext& call, const Shape& shape) {
    void* to = output.memory(call, shape);
    const void* from = call.in<void>(0);
    if (n > 0 && to != from) copy_elements(call.pool(), dtype, n, from, to);
  };
  if (parameter.known()) {
    const Shape shape = output_shape(parameter.values());
    return [copy, shape](KernelContext& call) { copy(call, shape); };
  }
  return [copy, parameter, output_shape](KernelContext& call) {
    copy(call, output_shape(parameter.read(call)));
  };
}

void set_reshaped_output(InferContext& context, std::optional<Dims> dims) {
  const bool small = dims && dims->size() <= 1;
  context.set_output(0, context.dtype(0), std::move(dims));
  if (!small || context.dtype(0) != DType::int64) return;
  if (const auto known = context.known_dims(0)) context.set_known_dims(0, *known);
}

std::vector<Val> reshape_gradient(GradContext& g) { return {reshape_like(g.dy(0), g.x(0))}; }

}  // namespace ondine::kernels
