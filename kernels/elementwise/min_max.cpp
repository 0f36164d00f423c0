// min_max.cpp — Min and Max of any number of inputs; NaN propagates. dx_i = dy where x_i is the
// result, divided equally among the inputs that equal it. Broadcasting from version 8, integers
// from 12.
#include "graph/contract/clipped_dim.h"
#include "kernels/common/constant_integers.h"
#include "kernels/elementwise/variadic.h"

namespace ondine::kernels::ops {
namespace {

// b != b only for NaN.
constexpr auto least = [](auto a, auto b) { return b < a || b != b ? b : a; };
constexpr auto greatest = [](auto a, auto b) { return b > a || b != b ? b : a; };

template <auto F>
Kernel bind(BindContext& context) {
  return bind_variadic(context,
                       pick_row<BinaryRows<F>>(compute_dtype(context.dtype(0)), Computed{}));
}

template <bool Greatest>
std::optional<Dim> known_extreme(Dim a, Dim b) {
  if (a.same(b)) return a;
  if (a.same(0)) return Greatest ? b : a;
  if (b.same(0)) return Greatest ? a : b;
  if (!a.known() && !b.known()) return Dim();
  if (!a.known() || !b.known()) {
    const Dim length = a.known() ? b : a;
    return Greatest ? Dim() : graph::clipped(length, a.known() ? a.size() : b.size());
  }
  return Dim(Greatest ? std::max(a.size(), b.size()) : std::min(a.size(), b.size()));
}

template <bool Greatest>
void infer(InferContext& context) {
  infer_variadic(context);
  combine_known_elements(context, known_extreme<Greatest>);
}

std::vector<Val> grad(GradContext& g) {
  const std::size_t n = g.input_count();
  const Val y = g.y(0);
  if (n == 1) return {g.dy(0)};
  const Val zero = scalar_like(y, 0);
  std::vector<Val> is_result;
  Val winners;
  for (std::size_t i = 0; i < n; ++i) {
    is_result.push_back(equal(g.x(i), y));
    const Val one = cast(is_result[i], y.dtype());
    winners = winners ? winners + one : one;
  }
  // Where the result is NaN no input equals it: all derivatives are 0 and the quotient is not used.
  const Val share = g.dy(0) / winners;
  std::vector<Val> dx(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (g.wants(i)) dx[i] = graph::sum_to(where(is_result[i], share, zero), g.x(i));
  }
  return dx;
}

}  // namespace

extern const OpDef min_op{.name = "Min",
                          .infer = infer<false>,
                          .bind = bind<least>,
                          .grad = grad,
                          .traits = {.inplace = 3, .cheap = true}};
extern const OpDef max_op{.name = "Max",
                          .infer = infer<true>,
                          .bind = bind<greatest>,
                          .grad = grad,
                          .traits = {.inplace = 3, .cheap = true}};

}  // namespace ondine::kernels::ops
