// reduce_mean.cpp — y = sum of x over axes / their number n, NaN over no elements;  dx = dy / n
// broadcast. Axes are an attribute before version 18, then an input; 11 allows negative ones.
#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
struct MeanReducer : SumRows<T> {
  std::int64_t count;

  explicit MeanReducer(std::int64_t n) : count(n) {}
  T finish(sum_total<T> total, std::int64_t) const {
    if constexpr (is_real<T>) {
      return from_real<T>(total / static_cast<double>(count));
    } else if constexpr (std::is_signed_v<T>) {
      return count == 0 ? 0 : static_cast<T>(static_cast<std::int64_t>(total) / count);
    } else {
      return count == 0 ? 0 : static_cast<T>(total / static_cast<std::uint64_t>(count));
    }
  }
};

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() {
    return bind_reducer<T>(context, axes_input, [](std::int64_t n) { return MeanReducer<T>(n); });
  });
}

// The number of elements reduced to each output, in the dtype of dy.
Val element_count(Val x, Val y) {
  const auto have = x.type().shape();
  const auto left = y.type().shape();
  if (have && left && left->size() > 0) {
    return scalar_like(x, static_cast<double>(have->size() / left->size()));
  }
  return cast(graph::size_of(x), x.dtype()) / cast(graph::size_of(y), x.dtype());
}

std::vector<Val> grad(GradContext& g) {
  const ReduceGrad reduce(g, axes_input);
  if (reduce.nothing()) return {g.dy(0)};
  const Val share = g.dy(0) / element_count(g.x(0), g.dy(0));
  return {expand_like(reduce.keep(share), g.x(0))};
}

}  // namespace

extern const OpDef reduce_mean_op{.name = "ReduceMean",
                                  .infer = [](InferContext& c) { infer_reduce(c, axes_input); },
                                  .bind = bind,
                                  .grad = grad,
                                  .traits = {.per_sample = 1},
                                  .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
