// scaler.cpp — y = (x - offset) * scale, one of each for all or for each feature on the last axis.
// Composed of Sub and Mul.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const std::size_t scales = context.attr_floats("scale", {1}).size();
  const std::size_t offsets = context.attr_floats("offset", {0}).size();
  for (const std::size_t count : {scales, offsets}) {
    if (count == 1 || !context.ranked(0)) continue;
    const Dims& dims = context.dims(0);
    if (count == 0 || dims.empty() ||
        (dims.back().known() && dims.back().size() != static_cast<std::int64_t>(count))) {
      context.reject(scales, " scales and ", offsets, " offsets for x of shape ",
                     graph::to_string(dims), ", needed: 1 or one for each feature");
    }
  }
  context.set_output(0, DType::float32, context.input(0).dims);
}

std::vector<Val> expand(ExpandContext& context) {
  const DType dtype = context.x(0).dtype() == DType::float32 ? DType::float32 : DType::float64;
  const auto constant = [&](std::vector<float> values) {
    const Shape shape =
        values.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
    return cast(context.builder().constant(Tensor::of(shape, values)), dtype);
  };
  const Val x = cast(context.x(0), dtype);
  const Val y = (x - constant(context.attr_floats("offset", {0}))) *
                constant(context.attr_floats("scale", {1}));
  return {cast(with_dims_of(y, x, "features of X and of scale or offset"), DType::float32)};
}

}  // namespace

extern const OpDef scaler{.name = "Scaler", .domain = ml_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
