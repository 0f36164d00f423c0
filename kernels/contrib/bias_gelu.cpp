// bias_gelu.cpp — com.microsoft BiasGelu: y = Gelu(a + b), b being a vector over the last axis.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {.required = 0b11, .inputs = 2});
  require_floats(context, {0, 1});
  if (context.ranked(0)) require_broadcast(context, 1, context.dims(0), "B");
  infer_same_as_input(context);
}

std::vector<Val> expand(ExpandContext& context) {
  return {unary("Gelu",
                with_dims_of(context.x(0) + context.x(1), context.x(0), "dims of A and A + B"))};
}

}  // namespace

extern const OpDef bias_gelu{
    .name = "BiasGelu", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
