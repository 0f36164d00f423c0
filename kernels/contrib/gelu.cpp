// gelu.cpp — com.microsoft Gelu: y = x P(x), P being the normal distribution; the standard's Gelu.
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {});
  require_floats(context, {0});
  infer_same_as_input(context);
}

std::vector<Val> expand(ExpandContext& context) { return {unary("Gelu", context.x(0))}; }

}  // namespace

extern const OpDef contrib_gelu{
    .name = "Gelu", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
