// causal_conv_with_state.cpp — a depthwise convolution of x [batch, channels, sequence_length] by w
// [channels, 1, k] over the k latest steps, those before x being past_state or 0; then SiLU if
// `activation` says so. present_state: the last k - 1 steps seen. An expansion into Conv.
#include <limits>

#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

bool has_silu(const NodeView& node) {
  const std::string name = node.attr_string("activation", "none");
  if (name == "silu" || name == "swish") return true;
  if (name == "none") return false;
  fail(ErrorCode::invalid_model, "unknown activation ", ondine::quoted(name),
       ", needed: \"silu\", \"swish\" or \"none\"");
}

void infer(InferContext& context) {
  has_silu(context);
  require_same_dtype(context, {0, 1, 2, 3});
  Dims x = dims_of_rank(context, 0, 3, "the input");
  const Dims w = dims_of_rank(context, 1, 3, "the weight");
  unify(w[1], 1, "channels of one kernel");
  x[1] = unify(x[1], w[0], "channels of input and weight");
  if (w[2].known() && w[2].size() < 1) context.reject("the kernel is empty");
  if (context.has_input(2)) {
    unify(dims_of_rank(context, 2, 1, "the bias")[0], x[1], "channels of input and bias");
  }
  Dims state{x[0], x[1], w[2].known() ? Dim(w[2].size() - 1) : Dim()};
  if (context.has_input(3)) {
    const Dims past = dims_of_rank(context, 3, 3, "the past state");
    for (std::size_t i = 0; i < 3; ++i) state[i] = unify(state[i], past[i], "dims of the state");
  }
  context.set_output(0, context.dtype(0), x);
  context.set_output(1, context.dtype(0), state);
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val x = context.x(0);
  const Val w = context.x(1);
  Val past = context.x(3);
  if (!past) {
    const Val shape[] = {graph::dim_of(x, 0), graph::dim_of(x, 1),
                         graph::dim_of(w, 2) - b.int64s({1})};
    past = graph::expand(graph::scalar_like(x, 0), graph::concat(shape, 0));
  }
  const Val parts[] = {past, x};
  const Val seen = graph::concat(parts, 2);
  const Dim channels = w.ranked() && w.dims()[0].known() ? w.dims()[0]
                       : x.ranked()                      ? x.dims()[1]
                                                         : Dim();
  if (!channels.known()) {
    fail(ErrorCode::unsupported, "CausalConvWithState needs a known number of channels");
  }
  Val y = b.node("Conv", {seen, w, context.x(2)}, {{"group", channels.size()}});
  if (has_silu(context)) y = b.node("Swish", {y});
  const Val state =
      b.node("Slice", {seen, graph::dim_of(x, 2),
                       b.int64s({std::numeric_limits<std::int64_t>::max()}), b.int64s({2})});
  return {y, state};
}

}  // namespace

extern const OpDef causal_conv_with_state{
    .name = "CausalConvWithState", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
