// The operands and results of a forward convolution that normalizes its input, in C.
#pragma once

#include "graph/contract/kernel.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/stored_input.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {

template <class C>
class NormalizedConvOperands {
 public:
  // `as_stored`: whether x may be given in bfloat16 (StoredIn).
  NormalizedConvOperands(graph::BindContext& context, Scratch& scratch, bool as_stored)
      : channels_(context.shape(0)[1]),
        running_{true, static_cast<C>(context.attr_float("momentum", 0.9F)), channels_},
        x_(context, scratch, 0, as_stored),
        scale_(context, scratch, 1),
        bias_(context, scratch, 2),
        mean_(context, scratch, 3),
        variance_(context, scratch, 4),
        w_(context, scratch, 5),
        y_(context, scratch, 0, context.output_shape(0)->size(), true),
        new_mean_(context, scratch, 1, channels_),
        new_variance_(context, scratch, 2, channels_),
        used_mean_(context, scratch, 3, channels_, true),
        used_variance_(context, scratch, 4, channels_, true) {}

  // run(args) of the primitive, whose Args have these fields; then what follows from its results.
  template <class Args, class Run>
  void run(graph::KernelContext& call, Args args, Run&& primitive) const {
    const C* const old_mean = mean_(call);
    const C* const old_variance = variance_(call);
    args.x = x_(call);
    args.scale = scale_(call);
    args.bias = bias_(call);
    args.w = w_(call);
    args.y = y_.data(call);
    args.batch_mean = used_mean_.data(call);
    args.batch_variance = used_variance_.data(call);
    primitive(args);
    running_.write(call, new_mean_, old_mean, args.batch_mean);
    running_.write(call, new_variance_, old_variance, args.batch_variance);
    y_.store(call);
    used_mean_.store(call);
    used_variance_.store(call);
  }

 private:
  std::int64_t channels_;
  RunningStatistic<C> running_;
  StoredIn<C> x_;
  ComputeIn<C> scale_, bias_, mean_, variance_, w_;
  ComputeOut<C> y_, new_mean_, new_variance_, used_mean_, used_variance_;
};

}  // namespace ondine::kernels::ops
