// imputer.cpp — y = x with the elements that equal one value (NaN equals NaN) replaced by the value
// of their feature on the last axis. Composed of Where, so dx = dy where x is kept.
#include <cmath>

#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

bool integers(DType dtype) { return dtype == DType::int64 || dtype == DType::int32; }

std::size_t imputed_count(const NodeView& node, DType dtype) {
  return integers(dtype) ? node.attr_ints("imputed_value_int64s").size()
                         : node.attr_floats("imputed_value_floats").size();
}

void infer(InferContext& context) {
  infer_same_as_input(context);
  const std::size_t count = imputed_count(context, context.dtype(0));
  if (count == 1 || !context.ranked(0)) return;
  const Dims& dims = context.dims(0);
  if (count == 0 || dims.empty() ||
      (dims.back().known() && dims.back().size() != static_cast<std::int64_t>(count))) {
    context.reject(count, " imputed values for x of shape ", graph::to_string(dims),
                   ", needed: 1 or one for each feature");
  }
}

Val replace(Val found, Val imputed, Val x) {
  return with_dims_of(graph::where(found, imputed, x), x, "features of x and imputed values");
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(0);
  Builder& builder = context.builder();
  const std::size_t count = imputed_count(context, x.dtype());
  const Shape shape = count == 1 ? Shape{} : Shape{static_cast<std::int64_t>(count)};
  if (integers(x.dtype())) {
    const Val imputed =
        builder.constant(Tensor::of(shape, context.attr_ints("imputed_value_int64s")));
    const Val replaced =
        builder.constant(Tensor::scalar(context.attr_int("replaced_value_int64", 0)));
    const Val found = graph::equal(x, cast(replaced, x.dtype()));
    return {replace(found, cast(imputed, x.dtype()), x)};
  }
  const Val imputed = cast(
      builder.constant(Tensor::of(shape, context.attr_floats("imputed_value_floats"))), x.dtype());
  const float replaced = context.attr_float("replaced_value_float", 0);
  const Val found = std::isnan(replaced)
                        ? unary("IsNaN", x)
                        : graph::equal(x, builder.scalar(static_cast<double>(replaced), x.dtype()));
  return {replace(found, imputed, x)};
}

}  // namespace

extern const OpDef imputer{
    .name = "Imputer", .domain = ml_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
