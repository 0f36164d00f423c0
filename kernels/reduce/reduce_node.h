// Axes, keepdims and empty axes, which the Reduce* operators share.
#pragma once

#include <functional>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/reduce/reduce.h"

namespace ondine::kernels {

// The numbers that Reduce* are defined for; Max and Min know a few more.
using ReducedTypes = Types<float, double, float16, bfloat16, std::int32_t, std::int64_t,
                           std::uint32_t, std::uint64_t>;

// Axes are an attribute up to this version, then an input with noop_with_empty_axes: 13 for
// ReduceSum, 18 for all others. Negative axes came with 11.
inline constexpr std::int64_t sum_axes_input = 13;
inline constexpr std::int64_t axes_input = 18;

void infer_reduce(graph::InferContext& context, std::int64_t input_from);

// run(call, reduction, output, scratch): `scratch` holds reduction.partials() totals and, after
// them, reduction.outputs() * extra more.
using RunReduction =
    std::function<void(graph::KernelContext&, const Reduction&, void* to, double* scratch)>;
graph::Kernel bind_reduce(graph::BindContext& context, std::int64_t input_from, RunReduction run,
                          std::int64_t extra = 0);

// The kernel of a reduction by one reducer: reducer(count) for `count` elements an output.
template <class T, class Make>
graph::Kernel bind_reducer(graph::BindContext& context, std::int64_t input_from, Make make) {
  return bind_reduce(
      context, input_from,
      [make](graph::KernelContext& call, const Reduction& reduction, void* to, double* scratch) {
        reduction.reduce(call.pool(), call.in<T>(0), static_cast<T*>(to), make(reduction.count()),
                         scratch);
      });
}

// For gradient rules.
class ReduceGrad {
 public:
  ReduceGrad(graph::GradContext& g, std::int64_t input_from);

  // y or dy with its reduced axes as dims of 1 (or, for all axes, a scalar): broadcasts with x.
  graph::Val keep(graph::Val reduced) const;
  // `x` reduced over the same axes by another operator, with keepdims.
  graph::Val again(std::string_view op, graph::Val x) const;
  // Whether it is certain that nothing is reduced.
  bool nothing() const;
  // The axes where known; empty with all() means all of them.
  const std::optional<std::vector<std::int64_t>>& axes() const { return known_axes_; }

 private:
  graph::GradContext* g_;
  graph::Val axes_;
  std::optional<std::vector<std::int64_t>> known_axes_;
  bool keepdims_;
  bool noop_;
};

}  // namespace ondine::kernels
