// normalizer.cpp — each row divided by its greatest element (MAX), the sum of magnitudes (L1) or
// the root of the sum of squares (L2); unchanged where that is 0. Composed of reductions and Div.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

std::string norm_of(const NodeView& node) {
  std::string norm = node.attr_string("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2") {
    fail(ErrorCode::invalid_model, "attribute 'norm' is ", quoted(norm), ", not MAX, L1 or L2");
  }
  return norm;
}

constexpr const char* needed = "x must have shape [N, C] or [C]";

void infer(InferContext& context) {
  norm_of(context);
  if (context.ranked(0) && context.rank(0) != 1 && context.rank(0) != 2) {
    context.reject(needed, ", found ", graph::to_string(context.dims(0)));
  }
  context.set_output(0, DType::float32, context.input(0).dims);
}

std::vector<Val> expand(ExpandContext& context) {
  const std::string norm = norm_of(context);
  const DType dtype = context.x(0).dtype() == DType::float32 ? DType::float32 : DType::float64;
  const Val x = cast(of_rank(context.x(0), {1, 2}, needed), dtype);
  Val size;
  if (norm == "MAX") {
    size = reduce_max(x, {-1}, true);
  } else if (norm == "L1") {
    size = reduce_sum(unary("Abs", x), {-1}, true);
  } else {
    size = unary("Sqrt", reduce_sum(x * x, {-1}, true));
  }
  const Val none = graph::equal(size, scalar_like(size, 0));
  return {cast(x / graph::where(none, scalar_like(size, 1), size), DType::float32)};
}

}  // namespace

extern const OpDef normalizer{
    .name = "Normalizer", .domain = ml_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
