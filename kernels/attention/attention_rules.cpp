#include "kernels/attention/attention_rules.h"

#include <limits>

#include "kernels/common/infer_checks.h"

namespace ondine::kernels::ops {

void check_mask(InferContext& context, std::size_t index, const Dims& scores) {
  if (!context.has_input(index) || !context.ranked(index)) return;
  const Dims& mask = context.dims(index);
  bool fits = mask.size() <= scores.size();
  for (std::size_t i = 0; fits && i < mask.size(); ++i) {
    const Dim want = scores[scores.size() - mask.size() + i];
    fits = mask[i].same(1) || !mask[i].known() || !want.known() || mask[i].same(want);
  }
  if (fits) return;
  context.reject("the mask is ", graph::to_string(mask), ", the scores are ",
                 graph::to_string(scores));
}

Val hidden_rows(Val mask) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (mask.rank() == 0) return graph::equal(mask, graph::scalar_like(mask, -infinity));
  return graph::equal(graph::reduce_max(mask, {-1}, true), graph::scalar_like(mask, -infinity));
}

void infer_attention_gradient(InferContext& context, const std::optional<Dims>& y,
                              std::size_t operands) {
  require_same_dtype(context, {0, 1});
  if (y) {
    const Dims dy = dims_of_rank(context, 0, y->size(), "dy");
    for (std::size_t i = 0; i < y->size(); ++i) unify(dy[i], (*y)[i], "dims of dy and y");
  }
  if (context.has_output(operands) && !context.has_input(operands + 1)) {
    context.reject("there is no mask");
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    context.set_output(i, context.input(i + 1));
  }
}

std::vector<Val> attention_gradient(GradContext& g, std::string_view op, std::size_t operands) {
  std::vector<Val> inputs{g.dy(0)};
  for (std::size_t i = 0; i <= operands; ++i) inputs.push_back(g.x(i));
  const bool of_mask = g.has_input(operands) && g.wants(operands);
  auto parts = g.builder().nodes(op, inputs, g.node().attributes, operands + (of_mask ? 1 : 0),
                                 ondine_domain);
  parts.resize(g.input_count());
  return parts;
}

}  // namespace ondine::kernels::ops
