// Nodes that update a variable by a gradient which they compute part by part, so that it is never
// stored as a whole: GemmUpdate, and ProjectedUpdate of the loss of a head. Their inputs are
//   (dy, indices, decay, sources of the gradient..., inputs of an optimizer but the gradient...)
// of which the first three are optional: rows of dy are added to the gradient at their indices, as
// GatherGrad does, and decay, one number, times the old variable is taken off the new one, as
// SgdUpdate does. Attributes: those of the gradient; optimizer, the operator that updates
// (update_sink.h), and its attributes; gradient, which of its inputs the gradient is; like, an
// input of the node that has the type of the variable.
#pragma once

#include <optional>

#include "kernels/common/index_input.h"
#include "kernels/common/workspace.h"
#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {

enum UpdateInput : std::size_t { dy_in, indices_in, decay_in, source_in };

// Attributes and inputs of a node whose gradient has so many sources. Error(invalid_model) if they
// do not fit.
struct UpdateNode {
  UpdateNode(const NodeView& node, std::size_t sources);

  std::size_t outputs() const { return rule->outputs(*node, count); }

  const NodeView* node;
  const UpdateRule* rule;
  UpdateInputs inputs;
  std::size_t count;     // inputs of the optimizer, with the gradient
  std::size_t variable;  // an input of the node that has its type
};

// Every result may overwrite the input of the optimizer that it replaces.
constexpr OpTraits update_traits(std::size_t sources) {
  return {.inplace = any_input << (source_in + sources),
          .cannot_fail = true,
          .inplace_every_output = true};
}
void infer_update(InferContext& context, std::size_t sources);
// The results of the optimizer with a gradient, to which the rows are still to be added. It has the
// attributes of the node but those of the gradient.
std::vector<Val> expand_update(ExpandContext& context, std::size_t sources, Val gradient,
                               const graph::Attributes& of_gradient);

// The update of a node. Const and safe to run from several threads with different parts.
template <class T>
class UpdateParts {
 public:
  UpdateParts(BindContext& context, const UpdateNode& node)
      : sink_(node.rule->make<T>(context, node.inputs)),
        decays_(context.has_input(decay_in)),
        variable_(node.variable) {
    const std::size_t outputs = node.outputs();
    for (std::size_t k = 0; k < outputs; ++k) {
      if (!context.has_output(k)) unused_ = outputs;
    }
    if (context.has_input(indices_in)) indices_.emplace(context, indices_in);
  }

  // Memory of a part of so many elements for results that nobody reads.
  std::size_t unused_bytes(std::int64_t elements) const {
    return math::bytes_of<T>(checked_mul(elements, static_cast<std::int64_t>(unused_)));
  }
  // Memory for the indices, at the start of the workspace.
  std::size_t index_bytes() const {
    if (!indices_) return 0;
    return math::bytes_of<std::int64_t>(indices_->count());
  }
  // Indices of the rows of dy, of a variable of so many rows; null if there are none.
  const std::int64_t* read_indices(KernelContext& call, std::int64_t rows) const {
    return indices_ ? indices_->read_unchecked(call, rows) : nullptr;
  }
  // Adds the rows of dy whose indices lie in [first, last) to `to`, in their order.
  void add_rows(KernelContext& call, const std::int64_t* index, std::int64_t first,
                std::int64_t last, std::int64_t length, T* to) const {
    if (index == nullptr) return;
    const T* dy = call.in<T>(dy_in);
    for (std::int64_t i = 0; i < indices_->count(); ++i, dy += length) {
      if (index[i] < first || index[i] >= last) continue;
      T* const row = to + (index[i] - first) * length;
      for (std::int64_t k = 0; k < length; ++k) row[k] += dy[k];
    }
  }
  // Updates n elements from number `first` on. The gradient is overwritten.
  void take(KernelContext& call, std::int64_t first, std::int64_t n, T* gradient, T* unused) const {
    UpdateStrip<T> strip{.first = first, .count = n, .gradient = gradient, .unused = unused};
    if (decays_) strip.variable = gradient;
    sink_->take(call, strip);
    if (!decays_) return;
    math::sgd(call.pool(), {.rate = *call.in<T>(decay_in)}, n, gradient,
              call.in<T>(variable_) + first, call.out<T>(0) + first);
  }

 private:
  MadeSink<T> sink_;
  bool decays_;
  std::size_t variable_;
  std::size_t unused_ = 0;
  std::optional<IndexInput> indices_;
};

}  // namespace ondine::kernels::ops
