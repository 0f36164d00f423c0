#include "kernels/common/copy_kernel.h"

#include "kernels/common/kernel_output.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

Kernel bind_copy(BindContext& context, std::vector<IntegerParameter> parameters, MakeCopy make,
                 CopyOptions options) {
  const DType dtype = context.dtype(0);
  const Output output(context, 0);
  auto run = [=, options = std::move(options)](KernelContext& call, const ShapedCopy& copy) {
    void* to = output.memory(call, copy.shape);
    if (options.fill) {
      const void* value = options.fill_value.defined() ? options.fill_value.data()
                          : options.fill_input         ? call.in<void>(*options.fill_input)
                                                       : nullptr;
      fill_elements(call.pool(), dtype, copy.shape.size(), value, to);
    }
    copy.copy.run(call.pool(), call.in<void>(0), to);
  };
  bool known = true;
  std::vector<std::vector<std::int64_t>> values;
  for (const IntegerParameter& parameter : parameters) {
    known = known && parameter.known();
    if (known) values.push_back(parameter.values());
  }
  if (known) {
    return [run, copy = make(values)](KernelContext& call) { run(call, copy); };
  }
  return [run, make = std::move(make), parameters](KernelContext& call) {
    std::vector<std::vector<std::int64_t>> read;
    for (const IntegerParameter& parameter : parameters) read.push_back(parameter.read(call));
    run(call, make(read));
  };
}

StridedCopy permuted_copy(DType dtype, const Shape& shape, std::span<const std::size_t> perm) {
  const auto from = row_major(shape);
  std::vector<StridedCopy::Axis> axes(perm.size());
  std::int64_t to = 1;
  for (std::size_t a = perm.size(); a-- > 0;) {
    axes[a] = {shape[perm[a]], from[perm[a]], to};
    to *= std::max<std::int64_t>(1, shape[perm[a]]);
  }
  return StridedCopy(dtype, axes);
}

}  // namespace ondine::kernels
