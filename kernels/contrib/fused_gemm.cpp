// fused_gemm.cpp — com.microsoft FusedGemm: an activation of the standard's Gemm.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/fused_activation.h"

namespace ondine::kernels::ops {
namespace {

// In the order of the activation's parameters.
std::vector<float> parameters(const NodeView& node) {
  std::vector<float> values;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (node.has_attr(name)) values.push_back(node.attr_float(name, 0));
  }
  return values;
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b11,
                       .inputs = 3,
                       .attributes = {"alpha", "beta", "transA", "transB", "activation",
                                      "activation_alpha", "activation_beta", "activation_gamma"}});
  require_floats(context, {0, 1, 2});
  check_activation(context.attr_string("activation", ""), parameters(context));
  const bool trans_a = context.attr_int("transA", 0) != 0;
  const bool trans_b = context.attr_int("transB", 0) != 0;
  const Dims a = dims_of_rank(context, 0, 2, "A");
  const Dims b = dims_of_rank(context, 1, 2, "B");
  unify(a[trans_a ? 0 : 1], b[trans_b ? 1 : 0], "inner dimensions");
  const Dims y{a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
  require_broadcast(context, 2, y, "C");
  context.set_output(0, context.dtype(0), y);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val y =
      context.builder().node("Gemm", {context.x(0), context.x(1), context.x(2)},
                             pick_attributes(context, {"alpha", "beta", "transA", "transB"}));
  return {activation(y, context.attr_string("activation", ""), parameters(context))};
}

}  // namespace

extern const OpDef fused_gemm{
    .name = "FusedGemm", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
