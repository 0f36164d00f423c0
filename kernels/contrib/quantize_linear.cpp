// quantize_linear.cpp — com.microsoft QuantizeLinear and DequantizeLinear: the standard's, which
// quantizers write for 16- and 4-bit integers in models of old opsets.
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

void infer_quantize(InferContext& context) {
  check_call(context, {.required = 0b11, .inputs = 3, .attributes = {"axis", "block_size"}});
  require_floats(context, {0});
  context.set_output(0, context.has_input(2) ? context.dtype(2) : DType::uint8,
                     context.input(0).dims);
}

void infer_dequantize(InferContext& context) {
  check_call(context, {.required = 0b11, .inputs = 3, .attributes = {"axis", "block_size"}});
  require_floats(context, {1});
  context.set_output(0, context.dtype(1), context.input(0).dims);
}

template <bool quantize>
std::vector<Val> expand(ExpandContext& context) {
  return {context.builder().node(quantize ? "QuantizeLinear" : "DequantizeLinear",
                                 {context.x(0), context.x(1), context.x(2)},
                                 context.node().attributes)};
}

}  // namespace

extern const OpDef contrib_quantize_linear{.name = "QuantizeLinear",
                                           .domain = contrib_domain,
                                           .infer = infer_quantize,
                                           .expand = expand<true>};
extern const OpDef contrib_dequantize_linear{.name = "DequantizeLinear",
                                             .domain = contrib_domain,
                                             .infer = infer_dequantize,
                                             .expand = expand<false>};

}  // namespace ondine::kernels::ops
