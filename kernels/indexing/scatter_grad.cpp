#include "kernels/indexing/scatter_grad.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Elements that equal the extreme share its derivative evenly.
std::vector<Val> grad_extreme(GradContext& g, const GatherAt& gather, const ScatterAt& scatter) {
  const Val data = g.x(0);
  const Val updates = g.x(2);
  const Val y = g.y(0);
  const Val hit = equal(data, y);
  const Val update_hit = equal(updates, gather(y));
  const Val count = scatter(cast(hit, data.dtype()), cast(update_hit, data.dtype()), "add");
  const Val share = g.dy(0) / maximum(count, scalar_like(count, 1));
  const Val zero = scalar_like(data, 0);
  return {where(hit, share, zero), Val(), where(update_hit, gather(share), zero)};
}

// The derivative of a factor is the product of the others. Zeros are counted and left out of the
// product; where several factors of one element are zero, second derivatives are not exact.
std::vector<Val> grad_mul(GradContext& g, const GatherAt& gather, const ScatterAt& scatter) {
  const Val data = g.x(0);
  const Val updates = g.x(2);
  const Val dy = g.dy(0);
  std::vector<Val> dx(3);
  const Val one = scalar_like(data, 1);
  const Val zero = scalar_like(data, 0);
  if (g.wants(0)) dx[0] = dy * scatter(full_like(data, 1), updates, "mul");
  if (!g.wants(2)) return dx;
  const Val update_zero = equal(updates, zero);
  const Val data_zero = equal(data, zero);
  const Val zeros =
      gather(scatter(cast(data_zero, data.dtype()), cast(update_zero, data.dtype()), "add"));
  const Val rest_updates = where(update_zero, one, updates);
  const Val rest = gather(scatter(where(data_zero, one, data), rest_updates, "mul")) / rest_updates;
  const Val others = zeros - cast(update_zero, data.dtype());
  dx[2] = where(equal(others, zero), gather(dy) * rest, zero);
  return dx;
}

}  // namespace

std::vector<Val> grad_scatter(GradContext& g, const GatherAt& gather, const ScatterAt& scatter) {
  const Val dy = g.dy(0);
  switch (scatter_reduction(g)) {
    case ScatterReduction::none: {
      std::vector<Val> dx(3);
      if (g.wants(0)) dx[0] = scatter(dy, zeros_like(g.x(2)), "none");
      if (g.wants(2)) dx[2] = gather(dy);
      return dx;
    }
    case ScatterReduction::add:
      return {dy, Val(), g.wants(2) ? gather(dy) : Val()};
    case ScatterReduction::mul:
      return grad_mul(g, gather, scatter);
    default:
      return grad_extreme(g, gather, scatter);
  }
}

}  // namespace ondine::kernels
