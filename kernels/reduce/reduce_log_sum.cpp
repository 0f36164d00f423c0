// reduce_log_sum.cpp — ReduceLogSum: y = log(sum x), dx = dy / sum x;  ReduceLogSumExp: y =
// log(sum exp(x)) = m + log(sum exp(x - m)) with the maximum m, dx = dy exp(x - y).
// Axes are an attribute before version 18, then an input; 11 allows negative ones.
#include <cmath>

#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
using Real = std::conditional_t<is_real<T>, compute_t<T>, double>;

template <class T>
struct RealSum {
  using Item = Real<T>;
  using Total = double;
  static constexpr Item identity = 0;
  static constexpr Total total_identity = 0;
  static Item map(T x, std::int64_t) { return static_cast<Item>(load(x)); }
  static Item combine(Item a, Item b) { return a + b; }
  static Total widen(Item x) { return x; }
  static Total merge(Total a, Total b) { return a + b; }
};

template <class T>
struct LogSumReducer : RealSum<T> {
  static T finish(double total, std::int64_t) { return from_real<T>(std::log(total)); }
};

// Infinite maxima are not subtracted: exp(-inf) and exp(inf) are right as they are.
template <class T>
struct ExpReducer : RealSum<T> {
  const double* maxima;

  explicit ExpReducer(const double* m) : maxima(m) {}
  double shift(std::int64_t o) const { return std::isinf(maxima[o]) ? 0 : maxima[o]; }
  Real<T> map(T x, std::int64_t o) const {
    return std::exp(static_cast<Real<T>>(load(x)) - static_cast<Real<T>>(shift(o)));
  }
  T finish(double total, std::int64_t o) const { return from_real<T>(shift(o) + std::log(total)); }
};

template <class T>
struct RealMax : ExtremeReducer<T, true> {
  static double finish(compute_t<T> total, std::int64_t) { return static_cast<double>(total); }
};

void infer(InferContext& context) { infer_reduce(context, axes_input); }

Kernel bind_log_sum(BindContext& context) {
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() {
    return bind_reducer<T>(context, axes_input, [](std::int64_t) { return LogSumReducer<T>(); });
  });
}

Kernel bind_log_sum_exp(BindContext& context) {
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() {
    return bind_reduce(
        context, axes_input,
        [](KernelContext& call, const Reduction& reduction, void* to, double* scratch) {
          const T* x = call.in<T>(0);
          double* maxima = scratch + reduction.partials();
          reduction.reduce(call.pool(), x, maxima, RealMax<T>(), scratch);
          reduction.reduce(call.pool(), x, static_cast<T*>(to), ExpReducer<T>(maxima), scratch);
        },
        1);
  });
}

std::vector<Val> grad_log_sum(GradContext& g) {
  const ReduceGrad reduce(g, axes_input);
  const Val sum = reduce.again("ReduceSum", g.x(0));
  return {expand_like(reduce.keep(g.dy(0)) / sum, g.x(0))};
}

std::vector<Val> grad_log_sum_exp(GradContext& g) {
  const ReduceGrad reduce(g, axes_input);
  return {reduce.keep(g.dy(0)) * unary("Exp", g.x(0) - reduce.keep(g.y(0)))};
}

}  // namespace

extern const OpDef reduce_log_sum{.name = "ReduceLogSum",
                                  .infer = infer,
                                  .bind = bind_log_sum,
                                  .grad = grad_log_sum,
                                  .no_gradient = 0b10};
extern const OpDef reduce_log_sum_exp{.name = "ReduceLogSumExp",
                                      .infer = infer,
                                      .bind = bind_log_sum_exp,
                                      .grad = grad_log_sum_exp,
                                      .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
