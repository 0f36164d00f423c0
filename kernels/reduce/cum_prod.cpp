// cum_prod.cpp — y_i = product of x_j for j <= i along an axis (exclusive: j < i; reverse: from the
// end). dx_k = (product of x_j, j < k) (sum over i >= k of dy_i (product of x_j, k < j <= i)): the
// sum is a linear recurrence, so nothing is divided and zeros are no exception.
#include "kernels/common/axis_input.h"
#include "kernels/common/op.h"
#include "kernels/reduce/cumulative.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  return bind_running(context, 1, [](auto& total, auto item) { total *= item; });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  const Val x = g.x(0);
  const Val dy = g.dy(0);
  const Val axis = g.x(1);
  const bool exclusive = g.attr_int("exclusive", 0) != 0;
  const std::int64_t reverse = g.attr_int("reverse", 0) != 0;
  const Val before =
      b.node("CumProd", {x, axis}, {{"exclusive", std::int64_t{1}}, {"reverse", reverse}});
  const Val after = b.node("LinearRecurrence", {x, exclusive ? dy : x * dy, axis},
                           {{"reverse", 1 - reverse}}, ondine_domain);
  return {before * (exclusive ? after : dy + after)};
}

// The product of the elements that a triangular mask leaves; the others count as 1.
std::vector<Val> expand_products(ExpandContext& context) {
  Builder& b = context.builder();
  const Val x = context.x(0);
  const auto given = constant_integers(context.x(1));
  if (!x.ranked() || !given) {
    fail(ErrorCode::unsupported, "CumProd is expanded for a known rank and axis only");
  }
  const auto axis = static_cast<std::int64_t>(axis_from(*given, x.rank()));
  const Val size = squeeze(dim_of(x, axis), {0});
  const Val range = b.node("Range", {b.int64(0), size, b.int64(1)});
  const Val i = unsqueeze(range, {1});
  const Val j = unsqueeze(range, {0});
  const bool reverse = context.attr_int("reverse", 0) != 0;
  const Val first = reverse ? i : j;
  const Val second = reverse ? j : i;
  const bool exclusive = context.attr_int("exclusive", 0) != 0;
  Val mask = less(first, exclusive ? second : second + b.int64(1));
  std::vector<std::int64_t> after;
  for (auto k = axis + 1; k < static_cast<std::int64_t>(x.rank()); ++k) {
    after.push_back(k - axis + 1);
  }
  if (!after.empty()) mask = unsqueeze(mask, after);
  const Val factors = where(mask, unsqueeze(x, {axis}), scalar_like(x, 1));
  return {b.node("ReduceProd", {factors, b.int64s({axis + 1})}, {{"keepdims", std::int64_t{0}}})};
}

}  // namespace

extern const OpDef cum_prod{.name = "CumProd",
                            .infer = [](InferContext& c) { infer_along_axis(c, 1); },
                            .bind = bind,
                            .grad = grad,
                            .expand = expand_products,
                            .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
