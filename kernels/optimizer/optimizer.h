// Optimizers: Adam, Adagrad and Momentum of ai.onnx.preview.training. Inputs are R, T, then groups
// of tensors for the variables (all X, all G, all V, ...); outputs are the new X, then the new
// states. optimizer_primitive.h updates one variable in one pass; update_sink.h updates one strip
// by strip, for products (GemmUpdate).
#pragma once

#include <array>
#include <vector>

#include "kernels/common/kernel_scratch.h"
#include "kernels/common/op.h"
#include "kernels/optimizer/optimizer_primitive.h"

namespace ondine::kernels::ops {

// The number of variables; `groups` is how many tensors each one has among the inputs.
// Error(invalid_model) when the numbers of inputs and outputs do not fit.
std::size_t variable_count(const NodeView& node, std::size_t groups);

// Output k V + i is tensor i of group `sources[k]`, V the number of variables: dtype and shape.
void infer_optimizer(InferContext& context, std::size_t groups,
                     std::initializer_list<std::size_t> sources);

// Learning rate and iteration of one call: inputs `first` and first + 1.
struct Iteration {
  double rate = 0;
  std::int64_t count = 0;
};
using ReadIteration = Iteration (*)(const KernelContext&, std::size_t first);
ReadIteration iteration_reader(DType rate);

// The tensors of one variable, or n elements of each, in one call.
template <class T>
struct Variable {
  static constexpr std::size_t most_groups = 4;

  std::int64_t n = 0;                      // elements
  std::array<const T*, most_groups> in{};  // x, its derivative, the states
  std::array<T*, most_groups - 1> out{};   // the new x, then the states; scratch if not wanted
};

// Kernel of an optimizer. A Step is made of the node and copied into the kernel; it has `groups`,
// how many tensors a variable has, and step(call.pool(), iteration, variable) for a Variable<T>.
template <class Step>
Kernel bind_optimizer(BindContext& context) {
  constexpr std::size_t groups = Step::groups;
  const std::size_t count = variable_count(context, groups);
  std::vector<std::int64_t> sizes;
  std::vector<DType> dtypes;
  std::vector<char> wanted((groups - 1) * count, 1);
  for (std::size_t v = 0; v < count; ++v) {
    sizes.push_back(context.shape(2 + v).size());
    dtypes.push_back(context.dtype(2 + v));
    for (std::size_t k = 0; k + 1 < groups; ++k) {
      if (context.has_output(k * count + v)) continue;
      wanted[k * count + v] = 0;
      Scratch scratch;
      const auto each = static_cast<std::int64_t>((groups - 1) * size_of(dtypes[v]));
      scratch.add<std::byte>(checked_mul(each, sizes[v]));
      scratch.request(context);
    }
  }
  return [=, step = Step(context), read = iteration_reader(context.dtype(0))](KernelContext& call) {
    const Iteration iteration = read(call, 0);
    for (std::size_t v = 0; v < count; ++v) {
      visit(dtypes[v], FullFloats{}, [&]<class T>() {
        Variable<T> variable{.n = sizes[v]};
        for (std::size_t k = 0; k < groups; ++k) variable.in[k] = call.in<T>(2 + k * count + v);
        for (std::size_t k = 0; k + 1 < groups; ++k) {
          const std::size_t output = k * count + v;
          variable.out[k] = wanted[output] != 0
                                ? call.out<T>(output)
                                : call.workspace<T>() + static_cast<std::int64_t>(k) * sizes[v];
        }
        step(call.pool(), iteration, variable);
      });
    }
  };
}

// An optimizer's node by standard operators.
class OptimizerNode {
 public:
  OptimizerNode(ExpandContext& context, std::size_t groups)
      : context_(&context), groups_(groups), count_(variable_count(context, groups)) {}

  Val rate(DType dtype) const;  // rank 0
  Val count() const;            // as a double of rank 0
  // `later` from the second update on, `first` before.
  Val if_counted(Val later, Val first) const;
  // The outputs: step(tensors of a variable) gives the new values of one.
  template <class Step>
  std::vector<Val> each(const Step& step) const {
    std::vector<Val> outputs((groups_ - 1) * count_);
    for (std::size_t v = 0; v < count_; ++v) {
      std::vector<Val> tensors;
      for (std::size_t k = 0; k < groups_; ++k) tensors.push_back(context_->x(2 + k * count_ + v));
      const std::vector<Val> made = step(std::span<const Val>(tensors));
      for (std::size_t k = 0; k < made.size(); ++k) outputs[k * count_ + v] = made[k];
    }
    return outputs;
  }

 private:
  Val scalar(std::size_t input) const;

  ExpandContext* context_;
  std::size_t groups_;
  std::size_t count_;
};

}  // namespace ondine::kernels::ops
