// clip.cpp — y = min(max, max(min, x)), the bounds attributes before version 11, scalar inputs
// after. dx = dy where min <= x <= max; dmin sums dy where x < min and min < max, dmax sums dy
// where x > max, or where min >= max and x < min. Integers from version 12.
#include <limits>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/op.h"

namespace ondine::kernels::ops {
namespace {

// Operands: x, then the bounds that are there; params.a, params.b tell which, or the attributes.
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
      context.reject("bound ", i, " is no scalar but ", to_string(context.dims(i)));
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

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const Val dy = g.dy(0);
  const Val zero = scalar_like(dy, 0);
  const auto [low, high] = bounds(g);
  const Val below = low ? less(x, low) : Val();
  const Val above = high ? greater(x, high) : Val();
  const auto only = [&](Val condition) { return where(condition, dy, zero); };
  const auto summed = [&](Val v, std::size_t i) {
    return reshape_like(reduce_sum(v, {}, false), g.x(i));
  };
  std::vector<Val> result(g.input_count());
  if (g.wants(0)) {
    result[0] = below ? where(below, zero, dy) : dy;
    if (above) result[0] = where(above, zero, result[0]);
  }
  // Where the bounds cross, max is the result for every x.
  if (g.wants(1)) {
    result[1] = summed(only(high ? logical_and(below, less(low, high)) : below), 1);
  }
  if (g.wants(2)) {
    Val at_high = above;
    if (low) {
      const Val crossed = logical_and(below, logical_not(less(low, high)));
      at_high = logical_not(logical_and(logical_not(above), logical_not(crossed)));
    }
    result[2] = summed(only(at_high), 2);
  }
  return result;
}

}  // namespace

extern const OpDef clip_op{.name = "Clip",
                           .infer = infer,
                           .bind = bind,
                           .grad = grad,
                           .facts = {.inplace = 1, .cheap = true}};

}  // namespace ondine::kernels::ops
