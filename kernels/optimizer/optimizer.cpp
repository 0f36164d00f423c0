#include "kernels/optimizer/optimizer.h"

namespace ondine::kernels::ops {

std::size_t variable_count(const NodeView& node, std::size_t groups) {
  const std::size_t tensors = node.input_count() < 2 ? 0 : node.input_count() - 2;
  if (tensors == 0 || tensors % groups != 0) {
    fail(ErrorCode::invalid_model, "an optimizer with ", groups, " tensors a variable has ",
         tensors, " of them");
  }
  const std::size_t count = tensors / groups;
  const std::size_t outputs = (groups - 1) * count;  // all but the derivative have a new value
  if (node.output_count() > outputs) {
    fail(ErrorCode::invalid_model, "an optimizer of ", count, " variables has ",
         node.output_count(), " outputs, needed: ", outputs);
  }
  return count;
}

void infer_optimizer(InferContext& context, std::size_t groups,
                     std::initializer_list<std::size_t> sources) {
  const std::size_t count = variable_count(context, groups);
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.ranked(i) && !product(context.dims(i)).same(1) &&
        product(context.dims(i)).known()) {
      context.reject("input ", i, " must be a scalar, found ", to_string(context.dims(i)));
    }
  }
  for (std::size_t v = 0; v < count; ++v) {
    const Type& x = context.input(2 + v);
    for (std::size_t k = 1; k < groups; ++k) {
      const Type& other = context.input(2 + k * count + v);
      if (!compatible(x, other)) {
        context.reject("tensors of variable ", v, " differ: ", to_string(x), " and ",
                       to_string(other));
      }
    }
  }
  std::size_t output = 0;
  for (const std::size_t group : sources) {
    for (std::size_t v = 0; v < count; ++v) {
      context.set_output(output++, context.input(2 + group * count + v));
    }
  }
}

ReadIteration iteration_reader(DType rate) {
  return visit(rate, FullFloats{}, []<class T>() -> ReadIteration {
    return [](const KernelContext& call, std::size_t first) {
      return Iteration{static_cast<double>(*call.in<T>(first)), *call.in<std::int64_t>(first + 1)};
    };
  });
}

Val OptimizerNode::scalar(std::size_t input) const {
  const Val x = context_->x(input);
  return x.ranked() && x.rank() == 0 ? x : graph::reshape(x, std::vector<std::int64_t>{});
}

Val OptimizerNode::rate(DType dtype) const { return graph::cast(scalar(0), dtype); }

Val OptimizerNode::count() const { return graph::cast(scalar(1), DType::float64); }

Val OptimizerNode::if_counted(Val later, Val first) const {
  return graph::where(graph::greater(scalar(1), context_->builder().int64(0)), later, first);
}

}  // namespace ondine::kernels::ops
