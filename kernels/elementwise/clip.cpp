// clip.cpp — y = min(max, max(min, x)), the bounds attributes before version 11, scalar inputs
// after. dx = dy where min <= x <= max; where x equals a bound that is a tensor, each of the two
// gets half of dy; dmin sums dy where x < min and min <= max, dmax sums dy where x > max, or where
// min >= max and x < min. Integers from version 12.
#include <limits>

#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"

namespace ondine::kernels::ops {
namespace {

// Operands: x, then the bounds that are inputs; params.a, params.b tell which, or the attributes.
template <class T>
void clip(const Row& row, T low, T high) {
  const T* x = row.in<T>(0);
  T* y = row.out<T>();
#pragma GCC ivdep  // y may be x
  for (std::int64_t i = 0; i < row.n; ++i) {
    const T raised = x[i] < low ? low : x[i];  // NaN stays
    y[i] = raised > high ? high : raised;
  }
}

template <class T, bool Greatest>
constexpr T unbounded() {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) return Greatest ? Limits::infinity() : -Limits::infinity();
  return Greatest ? Limits::max() : Limits::lowest();
}

template <bool HasLow, bool HasHigh>
struct ClipRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      T low = unbounded<T, false>();
      T high = unbounded<T, true>();
      if constexpr (HasLow) low = *row.in<T>(1);
      if constexpr (HasHigh) high = *row.in<T>(HasLow ? 2 : 1);
      clip(row, low, high);
    };
  }
};

struct ClipAttributeRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      clip(row, static_cast<T>(row.params.a), static_cast<T>(row.params.b));
    };
  }
};

bool by_attributes(const NodeView& node) { return node.version() < 11; }

// Without the attribute there is no bound.
Params attribute_bounds(const NodeView& node) {
  return {node.attr_float("min", -std::numeric_limits<float>::infinity()),
          node.attr_float("max", std::numeric_limits<float>::infinity())};
}

void infer(InferContext& context) {
  context.set_output(0, context.input(0));
  if (by_attributes(context)) return;
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!context.has_input(i)) continue;
    if (context.dtype(i) != context.dtype(0)) {
      context.reject("inputs 0 and ", i, " differ in dtype: ", context.dtype(0), " and ",
                     context.dtype(i));
    }
    if (!context.ranked(i)) continue;
    const Dim size = product(context.dims(i));
    if (size.known() && size.size() != 1) {
      context.reject("bound ", i, " must be a scalar, found ", to_string(context.dims(i)));
    }
  }
}

Kernel bind(BindContext& context) {
  const DType dtype = context.dtype(0);
  const DType compute = compute_dtype(dtype);
  const ConvertRow widen = compute != dtype ? row_to_float(dtype) : nullptr;
  Elementwise what;
  what.out = context.shape(0);
  what.operands.push_back({0, what.out, widen});
  if (compute != dtype) what.narrow = row_from_float(dtype);
  if (by_attributes(context)) {
    what.row = pick_row<ClipAttributeRows>(compute, FullFloats{});
    what.params = attribute_bounds(context);
    return elementwise(context, what);
  }
  const bool low = context.has_input(1);
  const bool high = context.has_input(2);
  if (low) what.operands.push_back({1, {}, widen});
  if (high) what.operands.push_back({2, {}, widen});
  if (low && high) {
    what.row = pick_row<ClipRows<true, true>>(compute, Computed{});
  } else if (low) {
    what.row = pick_row<ClipRows<true, false>>(compute, Computed{});
  } else if (high) {
    what.row = pick_row<ClipRows<false, true>>(compute, Computed{});
  } else {
    what.row = pick_row<ClipRows<false, false>>(compute, Computed{});
  }
  return elementwise(context, what);
}

struct Bounds {
  Val low;
  Val high;
};

Bounds bounds(const GradContext& g) {
  if (by_attributes(g)) {
    const Params p = attribute_bounds(g);
    return {g.has_attr("min") ? scalar_like(g.x(0), p.a) : Val(),
            g.has_attr("max") ? scalar_like(g.x(0), p.b) : Val()};
  }
  const auto scalar = [&](std::size_t i) {
    const Val bound = g.x(i);
    if (!bound || (bound.ranked() && bound.rank() == 0)) return bound;
    return graph::reshape(bound, std::vector<std::int64_t>{});
  };
  return {scalar(1), scalar(2)};
}

// Whether the bounds are numbers rather than tensors that may have derivatives.
bool constant_bounds(const GradContext& g) {
  const auto constant = [&](std::size_t i) {
    return !g.has_input(i) || g.builder().graph()[g.x(i).id()].constant->defined();
  };
  return by_attributes(g) || (constant(1) && constant(2));
}

// dy where x is neither below nor above numbers. A pass makes one node of it.
Val grad_between(Val x, Val dy, const Bounds& bounds) {
  const Val zero = scalar_like(dy, 0);
  if (bounds.low) dy = where(less(x, bounds.low), zero, dy);
  return bounds.high ? where(greater(x, bounds.high), zero, dy) : dy;
}

// The parts of dy of x and of the bounds: at a bound each has half. Where the bounds are equal, x
// has all at them; where they cross, max is the result for every x.
struct Shares {
  Val x, low, high;
};

Shares shares(Val x, Val dy, const Bounds& bounds) {
  const Val zero = scalar_like(dy, 0);
  const auto [low, high] = bounds;
  if (!low || !high) {
    const Val bound = low ? low : high;
    const Val beyond = low ? less(x, low) : greater(x, high);
    const Val half = where(equal(x, bound), dy * 0.5, zero);
    const Val all = where(beyond, dy, half);
    return {where(beyond, zero, dy - half), low ? all : Val(), high ? all : Val()};
  }
  const Val ordered = less(low, high);
  const Val crossed = less(high, low);
  const Val below = logical_and(less(x, low), logical_not(crossed));
  const Val above = logical_not(logical_and(logical_not(greater(x, high)), logical_not(crossed)));
  const Val at_low = where(logical_and(equal(x, low), ordered), dy * 0.5, zero);
  const Val at_high = where(logical_and(equal(x, high), ordered), dy * 0.5, zero);
  const Val inside = where(below, zero, where(above, zero, dy - at_low - at_high));
  return {inside, where(below, dy, at_low), where(above, dy, at_high)};
}

std::vector<Val> grad(GradContext& g) {
  const Bounds limits = bounds(g);
  if (constant_bounds(g)) return {grad_between(g.x(0), g.dy(0), limits)};
  if (!limits.low && !limits.high) return {g.dy(0)};
  const Shares parts = shares(g.x(0), g.dy(0), limits);
  const auto summed = [&](Val v, std::size_t i) {
    return reshape_like(reduce_sum(v, {}, false), g.x(i));
  };
  std::vector<Val> result(g.input_count());
  if (g.wants(0)) result[0] = parts.x;
  if (g.wants(1)) result[1] = summed(parts.low, 1);
  if (g.wants(2)) result[2] = summed(parts.high, 2);
  return result;
}

}  // namespace

extern const OpDef clip_op{.name = "Clip",
                           .infer = infer,
                           .bind = bind,
                           .grad = grad,
                           .traits = {.inplace = 1, .per_sample = 1, .cheap = true}};

}  // namespace ondine::kernels::ops
