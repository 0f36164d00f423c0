// Optimizers as sinks of a product. The gradient of a variable comes some elements at a time and is
// taken at once, so that it is never stored as a whole (GemmUpdate in kernels/matmul).
#pragma once

#include <memory>
#include <string_view>

#include "kernels/optimizer/optimizer.h"

namespace ondine::kernels::ops {

// Where a node has the inputs of an optimizer: from `first` on, without the gradient, which is
// number `gradient` of them.
struct UpdateInputs {
  std::size_t first = 0;
  std::size_t gradient = 0;

  // The input of the node that is input i of the optimizer, which is not the gradient.
  std::size_t at(std::size_t i) const { return first + (i < gradient ? i : i - 1); }
};

// Some elements of a variable.
template <class T>
struct UpdateStrip {
  std::int64_t first = 0;
  std::int64_t count = 0;
  const T* gradient = nullptr;  // `count` elements
  T* unused = nullptr;          // `count` elements for each output, if the node leaves one out
  // The new variable, not null only if the rule has_states(): in place of output 0. May be the
  // gradient.
  T* variable = nullptr;
};

// Const and safe to run from several threads with different strips.
template <class T>
class UpdateSink {
 public:
  virtual ~UpdateSink() = default;
  virtual void take(KernelContext& call, const UpdateStrip<T>& strip) const = 0;
};
template <class T>
using MadeSink = std::shared_ptr<const UpdateSink<T>>;

// An optimizer that can be a sink. `make` reads attributes, types and outputs of the node.
struct UpdateRule {
  template <class T>
  using Make = MadeSink<T> (*)(const BindContext&, const UpdateInputs&);

  std::string_view op;
  std::string_view domain;
  // How many outputs the optimizer has that reads the attributes and so many inputs.
  // Error(invalid_model) if these do not fit.
  std::size_t (*outputs)(const NodeView&, std::size_t inputs);
  Make<float> make_float;
  Make<double> make_double;

  // Whether it is one of the standard's optimizers.
  bool has_states() const { return domain != graph::ondine_domain; }
  template <class T>
  MadeSink<T> make(const BindContext& context, const UpdateInputs& inputs) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return make_float(context, inputs);
    } else {
      return make_double(context, inputs);
    }
  }
};
// Error(invalid_model) if the operator is none.
const UpdateRule& update_rule(std::string_view op);

// The rules, one for each optimizer.
extern const UpdateRule adagrad_rule, adam_rule, fused_elementwise_rule, momentum_rule,
    sgd_update_rule;

// Outputs of an optimizer of one variable. Error(invalid_model) for another number of inputs.
std::size_t variable_outputs(std::size_t inputs, std::size_t groups);

// The sink of a step of bind_optimizer().
template <class T, class Step>
class VariableSink final : public UpdateSink<T> {
 public:
  VariableSink(const BindContext& context, const UpdateInputs& inputs)
      : inputs_(inputs), step_(context), read_(iteration_reader(context.dtype(inputs.at(0)))) {
    for (std::size_t k = 0; k + 1 < Step::groups; ++k) wanted_[k] = context.has_output(k);
  }

  void take(KernelContext& call, const UpdateStrip<T>& strip) const override {
    Variable<T> variable{.n = strip.count};
    for (std::size_t k = 0; k < Step::groups; ++k) {
      const std::size_t input = 2 + k;
      variable.in[k] =
          input == inputs_.gradient ? strip.gradient : call.in<T>(inputs_.at(input)) + strip.first;
    }
    for (std::size_t k = 0; k + 1 < Step::groups; ++k) {
      variable.out[k] = wanted_[k] ? call.out<T>(k) + strip.first
                                   : strip.unused + static_cast<std::int64_t>(k) * strip.count;
    }
    if (strip.variable != nullptr) variable.out[0] = strip.variable;
    step_(call.pool(), read_(call, inputs_.at(0)), variable);
  }

  static MadeSink<T> make(const BindContext& context, const UpdateInputs& inputs) {
    return std::make_shared<VariableSink>(context, inputs);
  }

 private:
  UpdateInputs inputs_;
  Step step_;
  ReadIteration read_;
  std::array<bool, Variable<T>::most_groups - 1> wanted_{};
};

template <class Step>
constexpr UpdateRule rule_of_step(std::string_view op) {
  const auto outputs = [](const NodeView&, std::size_t inputs) {
    return variable_outputs(inputs, Step::groups);
  };
  return {op, "ai.onnx.preview.training", outputs, VariableSink<float, Step>::make,
          VariableSink<double, Step>::make};
}

}  // namespace ondine::kernels::ops
