// quick_gelu.cpp — com.microsoft QuickGelu: y = x sigmoid(alpha x), the standard's Swish.
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {.attributes = {"alpha"}});
  require_floats(context, {0});
  infer_same_as_input(context);
}

std::vector<Val> expand(ExpandContext& context) {
  return {context.builder().node("Swish", {context.x(0)},
                                 {{"alpha", context.attr_float("alpha", 1.702F)}})};
}

}  // namespace

extern const OpDef quick_gelu{
    .name = "QuickGelu", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
