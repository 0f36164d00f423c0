#include "kernels/attention/attention_rules.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/attention/attention_call.h"
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

void check_attributes(const InferContext& context) {
  const float cap = context.attr_float("softcap", 0);
  if (!(cap >= 0)) context.reject("softcap is ", cap, ", needed is a number from 0 on");
  const std::string what = context.attr_string("replaces", "");
  if (what.empty() || what == "products" || what == "mask" || what == "both") return;
  context.reject("replaces is ", quoted(what), ", needed is 'products', 'mask' or 'both'");
}

Val where_replaced(Val more, Val x, Val instead) {
  return graph::where(graph::equal(more, graph::scalar_like(more, 0)), x, instead);
}

Val total_mask(math::Replaced replaced, Val mask, Val more) {
  if (!mask || !more) return mask ? mask : more;
  return replaces_mask(replaced) ? where_replaced(more, mask, more) : mask + more;
}

namespace {

// A gradient node whose first mask is `mask`.
std::vector<Val> gradient_node(GradContext& g, std::string_view op, std::size_t operands, Val mask,
                               Val more, Attributes attributes, bool of_mask) {
  std::vector<Val> inputs{g.dy(0)};
  for (std::size_t i = 0; i < operands; ++i) inputs.push_back(g.x(i));
  if (mask || more) inputs.push_back(mask);
  if (more) inputs.push_back(more);
  return g.builder().nodes(op, inputs, std::move(attributes), operands + (of_mask ? 1 : 0),
                           ondine_domain);
}

// The derivative of a second mask that replaces something: that of a mask of its dims, where it is
// not 0.
Val replaced_gradient(GradContext& g, std::string_view op, std::size_t operands) {
  const Val more = g.x(operands + 1);
  const Val zero = graph::scalar_like(more, 0);
  Attributes attributes = g.node().attributes;
  Val mask = g.x(operands) ? g.x(operands) + more * zero : more * zero;
  Val rest = more;
  const math::Replaced replaced = replaced_by(g);
  if (replaced != math::Replaced::products) {
    std::erase_if(attributes, [](const Attribute& one) { return one.name == "replaces"; });
    if (replaced == math::Replaced::both) {
      attributes.emplace_back("replaces", std::string("products"));
      mask = where_replaced(more, mask, zero);
    } else {
      mask = where_replaced(more, mask, more);
      rest = {};
    }
  }
  const Val d = gradient_node(g, op, operands, mask, rest, std::move(attributes), true)[operands];
  return graph::sum_to(where_replaced(more, zero, d), more);
}

}  // namespace

std::vector<Val> attention_gradient(GradContext& g, std::string_view op, std::size_t operands) {
  const auto wants = [&](std::size_t i) { return g.has_input(i) && g.wants(i); };
  const Val mask = g.x(operands);
  const Val more = g.x(operands + 1);
  const bool replaces = replaced_by(g) != math::Replaced::nothing;
  const bool of_mask = wants(operands);
  const bool of_more = wants(operands + 1);
  const auto node = [&](Val first, Val second, bool of_first) {
    return gradient_node(g, op, operands, first, second, g.node().attributes, of_first);
  };
  const bool swapped = of_more && !of_mask && !replaces;
  auto parts = swapped ? node(more, mask, true) : node(mask, more, of_mask);
  parts.resize(std::max(g.input_count(), parts.size()));
  if (swapped) {
    std::swap(parts[operands], parts[operands + 1]);
  } else if (of_more) {
    parts[operands + 1] =
        replaces ? replaced_gradient(g, op, operands) : node(more, mask, true)[operands];
  }
  return parts;
}

}  // namespace ondine::kernels::ops
