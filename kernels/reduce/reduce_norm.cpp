// reduce_norm.cpp — ReduceL1: y = sum |x|, dx = dy sign(x);  ReduceSumSquare: y = sum x x, dx = 2 x
// dy;  ReduceL2: y = sqrt(sum x x), dx = x dy / y, 0 where y = 0.
// Axes are an attribute before version 18, then an input; 11 allows negative ones.
#include <cmath>

#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
struct AbsReducer : SumReducer<T> {
  static sum_item<T> map(T x, std::int64_t) {
    const sum_item<T> item = to_item(x);
    if constexpr (is_real<T>) {
      return std::abs(item);
    } else if constexpr (std::is_signed_v<T>) {
      return x < 0 ? 0 - item : item;
    } else {
      return item;
    }
  }
};

template <class T>
struct SquareReducer : SumReducer<T> {
  static sum_item<T> map(T x, std::int64_t) { return to_item(x) * to_item(x); }
};

// Integers as real numbers, as their sum of squares may not fit.
template <class T>
struct RootReducer {
  using Item = std::conditional_t<is_real<T>, compute_t<T>, double>;
  using Total = double;
  static constexpr Item identity = 0;
  static constexpr Total total_identity = 0;
  static Item map(T x, std::int64_t) {
    const Item item = static_cast<Item>(load(x));
    return item * item;
  }
  static Item combine(Item a, Item b) { return a + b; }
  static Total widen(Item x) { return x; }
  static Total merge(Total a, Total b) { return a + b; }
  static T finish(Total total, std::int64_t) { return from_real<T>(std::sqrt(total)); }
};

template <template <class> class Reducer>
Kernel bind(BindContext& context) {
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() {
    return bind_reducer<T>(context, axes_input, [](std::int64_t) { return Reducer<T>(); });
  });
}

void infer(InferContext& context) { infer_reduce(context, axes_input); }

std::vector<Val> grad_l1(GradContext& g) {
  return {ReduceGrad(g, axes_input).keep(g.dy(0)) * unary("Sign", g.x(0))};
}

std::vector<Val> grad_sum_square(GradContext& g) {
  return {ReduceGrad(g, axes_input).keep(g.dy(0)) * (g.x(0) * 2)};
}

std::vector<Val> grad_l2(GradContext& g) {
  const Val y = g.y(0);
  const Val divisor = where(equal(y, scalar_like(y, 0)), scalar_like(y, 1), y);
  return {g.x(0) * ReduceGrad(g, axes_input).keep(g.dy(0) / divisor)};
}

}  // namespace

extern const OpDef reduce_l1{.name = "ReduceL1",
                             .infer = infer,
                             .bind = bind<AbsReducer>,
                             .grad = grad_l1,
                             .no_gradient = 0b10};
extern const OpDef reduce_l2{.name = "ReduceL2",
                             .infer = infer,
                             .bind = bind<RootReducer>,
                             .grad = grad_l2,
                             .no_gradient = 0b10};
extern const OpDef reduce_sum_square{.name = "ReduceSumSquare",
                                     .infer = infer,
                                     .bind = bind<SquareReducer>,
                                     .grad = grad_sum_square,
                                     .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
