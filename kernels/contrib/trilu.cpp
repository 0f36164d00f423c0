// trilu.cpp — com.microsoft Trilu: the standard's.
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {.inputs = 2, .attributes = {"upper"}});
  if (context.ranked(0) && context.rank(0) < 2) {
    context.reject("X must have rank 2 or more, found ", context.rank(0));
  }
  infer_same_as_input(context);
}

std::vector<Val> expand(ExpandContext& context) {
  return {context.builder().node("Trilu", {context.x(0), context.x(1)},
                                 pick_attributes(context, {"upper"}))};
}

}  // namespace

extern const OpDef contrib_trilu{.name = "Trilu",
                                 .domain = contrib_domain,
                                 .infer = infer,
                                 .expand = expand,
                                 .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
