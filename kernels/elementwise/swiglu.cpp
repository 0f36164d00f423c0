// swiglu.cpp — y = a sigmoid(alpha a) b, a and b of one shape. An expansion into GatedActivation.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1});
  const Type& a = context.input(0);
  const Type& b = context.input(1);
  if (!a.ranked() || !b.ranked()) return context.set_output(0, a.ranked() ? a : b);
  if (a.rank() != b.rank()) {
    context.reject("A ", graph::to_string(*a.dims), " and B ", graph::to_string(*b.dims),
                   " differ in shape");
  }
  Dims y;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    y.push_back(unify((*a.dims)[i], (*b.dims)[i], "dims of A and B"));
  }
  context.set_output(0, a.dtype, y);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val a = with_dims_of(context.x(0), context.x(1), "dims of A and B");
  return {context.builder().node(
      "GatedActivation", {a, context.x(1)},
      {{"activation", std::string("Swish")}, {"alpha", context.attr_float("alpha", 1.0F)}},
      ondine_domain)};
}

}  // namespace

extern const OpDef swiglu{.name = "SwiGLU", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
