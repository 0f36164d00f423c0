// fast_gelu.cpp — com.microsoft FastGelu: Gelu with tanh of x, or of x plus a vector over the last
// axis.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {.inputs = 2});
  require_floats(context, {0, 1});
  if (context.ranked(0)) require_broadcast(context, 1, context.dims(0), "bias");
  infer_same_as_input(context);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x =
      with_dims_of(add_if(context.x(0), context.x(1)), context.x(0), "dims of X and X + bias");
  return {context.builder().node("Gelu", {x}, {{"approximate", std::string("tanh")}})};
}

}  // namespace

extern const OpDef fast_gelu{
    .name = "FastGelu", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
