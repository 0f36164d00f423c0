// reduce_prod.cpp — y = product of x over axes, 1 over no elements;  dx = dy times the product of
// the other elements: those before times those after, axis by axis, so that zeros are no
// exception. Axes are an attribute before version 18, then an input; 11 allows negative ones.
#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
struct ProductReducer {
  using Item = sum_item<T>;
  using Total = sum_total<T>;
  static constexpr Item identity = 1;
  static constexpr Total total_identity = 1;
  static Item map(T x, std::int64_t) { return to_item(x); }
  static Item combine(Item a, Item b) { return a * b; }
  static Total widen(Item x) { return x; }
  static Total merge(Total a, Total b) { return a * b; }
  static T finish(Total total, std::int64_t) { return from_total<T>(total); }
};

void infer(InferContext& context) {
  infer_reduce(context, axes_input);
  // The number of elements of a shape.
  if (context.dtype(0) != DType::int64 || !context.ranked(0) || context.rank(0) != 1) return;
  const IntegerParameter axes(context, "axes", axes_input, 1);
  const bool noop = context.attr_int("noop_with_empty_axes", 0) != 0;
  const auto known = context.known_dims(0);
  if (!known || !axes.known() || (noop && axes.values().empty())) return;
  context.set_known_dims(0, {product(*known)});
}

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() {
    return bind_reducer<T>(context, axes_input, [](std::int64_t) { return ProductReducer<T>(); });
  });
}

// The products of all other elements along one axis.
Val others(Val x, std::int64_t axis) {
  Builder& b = x.builder();
  const Val at = b.int64(axis);
  const auto product = [&](std::int64_t reverse) {
    return b.node("CumProd", {x, at}, {{"exclusive", std::int64_t{1}}, {"reverse", reverse}});
  };
  return product(0) * product(1);
}

// For axes that are only known at run time: the product over x, or, where x is the only zero, that
// of the others. Its own derivative is right where there is no zero.
Val divided(const ReduceGrad& reduce, Val x, Val dy) {
  const Val zero = scalar_like(x, 0);
  const Val one = scalar_like(x, 1);
  const Val is_zero = equal(x, zero);
  const Val zeros = reduce.again("ReduceSum", where(is_zero, one, zero));
  const Val safe = where(is_zero, one, x);
  const Val product = reduce.again("ReduceProd", safe);
  const Val alone = where(is_zero, equal(zeros, one), equal(zeros, zero));
  return reduce.keep(dy) * where(alone, product / safe, zero);
}

std::vector<Val> grad(GradContext& g) {
  const ReduceGrad reduce(g, axes_input);
  if (reduce.nothing()) return {g.dy(0)};
  if (!reduce.axes()) return {divided(reduce, g.x(0), g.dy(0))};
  Builder& b = g.builder();
  const Val x = g.x(0);
  if (reduce.axes()->empty()) {
    const Val flat = graph::reshape(x, {-1});
    return {reshape_like(graph::reshape(g.dy(0), {1}) * others(flat, 0), x)};
  }
  std::vector<Val> partial{x};  // reduced over the first axes
  for (const std::int64_t axis : *reduce.axes()) {
    partial.push_back(b.node("ReduceProd", {partial.back(), b.int64s({axis})}));
  }
  Val dx = reduce.keep(g.dy(0));
  for (std::size_t i = reduce.axes()->size(); i-- > 0;) {
    dx = dx * others(partial[i], (*reduce.axes())[i]);
  }
  return {dx};
}

}  // namespace

extern const OpDef reduce_prod{
    .name = "ReduceProd", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
