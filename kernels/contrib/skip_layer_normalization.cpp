// skip_layer_normalization.cpp — com.microsoft SkipLayerNormalization: the standard's
// LayerNormalization over the last axis of s = x + skip + bias; SkipSimplifiedLayerNormalization:
// RMSNormalization of s. The statistics and s are optional outputs.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

enum Output : std::size_t { y_out, mean_out, inv_std_out, sum_out };

float epsilon(const NodeView& node) { return node.attr_float("epsilon", 1e-12F); }

void infer(InferContext& context, std::initializer_list<std::size_t> rows) {
  require_floats(context, {0, 1, 2, 3, 4});
  const Type& x = context.input(0);
  std::optional<Dims> statistics;
  if (x.ranked()) {
    if (x.rank() == 0) context.reject("the input must have rank 1 or more");
    statistics = *x.dims;
    statistics->back() = 1;
    require_broadcast(context, 1, *x.dims, "skip");
    for (const std::size_t i : rows) require_broadcast(context, i, {x.dims->back()}, "a vector");
  }
  context.set_output(y_out, x);
  context.set_output(mean_out, DType::float32, statistics);
  context.set_output(inv_std_out, DType::float32, statistics);
  context.set_output(sum_out, x);
}

void infer_layer(InferContext& context) {
  check_call(context, {.required = 0b111, .inputs = 5, .outputs = 4, .attributes = {"epsilon"}});
  infer(context, {2, 3, 4});
}

void infer_simplified(InferContext& context) {
  check_call(context, {.required = 0b111, .inputs = 4, .outputs = 4, .attributes = {"epsilon"}});
  if (context.has_output(mean_out)) {
    fail(ErrorCode::unsupported, "output ", std::size_t{mean_out}, " is not supported");
  }
  infer(context, {2, 3});
}

// Sum of the input, the skip and the bias, which is input `bias`.
Val skip_sum(const ExpandContext& context, std::size_t bias) {
  const Val sum = add_if(context.x(0) + context.x(1), context.x(bias));
  return with_dims_of(sum, context.x(0), "dims of the input and of the sum");
}

std::vector<Val> expand_layer(ExpandContext& context) {
  const Val sum = skip_sum(context, 4);
  const Val operands[] = {sum, context.x(2), context.x(3)};
  const bool statistics = context.has_output(mean_out) || context.has_output(inv_std_out);
  auto ys = context.builder().nodes("LayerNormalization", operands,
                                    {{"axis", std::int64_t{-1}}, {"epsilon", epsilon(context)}},
                                    statistics ? 3 : 1);
  ys.resize(3);
  ys.push_back(sum);
  return ys;
}

std::vector<Val> expand_simplified(ExpandContext& context) {
  const Val sum = skip_sum(context, 3);
  const Val y = context.builder().node("RMSNormalization", {sum, context.x(2)},
                                       {{"axis", std::int64_t{-1}}, {"epsilon", epsilon(context)}});
  Val inverse;
  if (context.has_output(inv_std_out)) {
    const Val compute = graph::cast(sum, DType::float32);
    const Val square = graph::reduce_mean(compute * compute, {-1}, true);
    inverse = 1.0 / unary("Sqrt", square + double{epsilon(context)});
  }
  return {y, Val(), inverse, sum};
}

}  // namespace

extern const OpDef skip_layer_normalization{.name = "SkipLayerNormalization",
                                            .domain = contrib_domain,
                                            .infer = infer_layer,
                                            .expand = expand_layer};
extern const OpDef skip_simplified_layer_normalization{.name = "SkipSimplifiedLayerNormalization",
                                                       .domain = contrib_domain,
                                                       .infer = infer_simplified,
                                                       .expand = expand_simplified};

}  // namespace ondine::kernels::ops
