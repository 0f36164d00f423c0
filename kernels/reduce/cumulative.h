// Operators that combine the elements before each one along an axis (CumSum, CumProd).
#pragma once

#include "kernels/common/axis_input.h"
#include "kernels/common/op.h"
#include "kernels/reduce/axis_scan.h"
#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels {

// y_i is `initial` combined with every x_j for j <= i: combine(total, x_j). Attributes exclusive
// (j < i) and reverse (from the end); input 1 is the axis.
template <class Combine>
graph::Kernel bind_running(graph::BindContext& context, int initial, Combine combine) {
  const bool exclusive = context.attr_int("exclusive", 0) != 0;
  const bool reverse = context.attr_int("reverse", 0) != 0;
  const Shape shape = context.shape(0);
  const IntegerParameter axis(context, 1);
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() -> graph::Kernel {
    return [=](graph::KernelContext& call) {
      using Total = sum_total<T>;
      const AxisView view(shape, axis_from(axis.read(call), shape.rank()));
      const T* x = call.in<T>(0);
      T* y = call.out<T>(0);
      scan(call.pool(), view, reverse, static_cast<Total>(initial),
           [&](Total& total, std::int64_t at) {
             const Total before = total;
             combine(total, to_item(x[at]));
             y[at] = from_total<T>(exclusive ? before : total);
           });
    };
  });
}

}  // namespace ondine::kernels
