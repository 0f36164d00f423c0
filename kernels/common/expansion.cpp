#include "kernels/common/expansion.h"

#include <algorithm>

#include "graph/contract/op_def.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

std::vector<Val> grad_of_expansion(GradContext& g) {
  ExpandContext context(g.builder(), g.node());
  std::vector<Val> ys = g.node().op->expand(context);
  std::vector<Val> dys;
  for (std::size_t i = 0; i < ys.size(); ++i) dys.push_back(g.dy(i));
  // A value that is two inputs gets its whole derivative at the first of them.
  std::vector<Val> xs;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    const Val x = g.x(i);
    const bool seen = std::any_of(xs.begin(), xs.end(), [&](Val o) { return o.id() == x.id(); });
    if (!x || !g.wants(i) || seen) continue;
    xs.push_back(x);
    positions.push_back(i);
  }
  const auto derivatives = g.differentiate()(g.builder(), ys, dys, xs);
  std::vector<Val> result(g.input_count());
  for (std::size_t k = 0; k < positions.size(); ++k) result[positions[k]] = derivatives[k];
  return result;
}

}  // namespace ondine::kernels
