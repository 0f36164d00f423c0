// q, k and v of an attention node, which are inputs of their own or parts of one, and their
// derivatives.
#pragma once

#include <array>
#include <vector>

#include "kernels/attention/attention_call.h"
#include "kernels/common/stored_input.h"

namespace ondine::kernels::ops {

template <class C>
class OperandsIn {
 public:
  // Whether bfloat16 is read as it is stored: `as_stored` where no matrices are copied.
  OperandsIn(const graph::BindContext& context, Scratch& scratch, const AttentionCall& layout,
             bool as_stored)
      : part_(layout.part_elements()) {
    as_stored = as_stored && layout.copied_heads == 1;
    for (std::size_t i = 0; i < layout.operands; ++i) {
      sources_.emplace_back(context, scratch, layout.at + i, as_stored);
    }
    const auto rows = layout.operand_rows();
    for (std::size_t i = 0; i < rows.size(); ++i) matrices_[i] = {scratch, rows[i], true};
  }
  math::AttentionOperands<C> operator()(graph::KernelContext& call) const {
    std::array<math::Elements<const C>, 3> x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = i < sources_.size() ? sources_[i](call) : x[i - 1] + part_;
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = matrices_[i].read(call, x[i]);
    return {x[0], x[1], x[2]};
  }

 private:
  std::vector<StoredIn<C>> sources_;
  std::array<HeadMatrices<C>, 3> matrices_;
  std::int64_t part_;
};

// Write to data(), then call store(). The outputs from 0 on.
template <class C>
class OperandsOut {
 public:
  OperandsOut(const graph::BindContext& context, Scratch& scratch, const AttentionCall& layout)
      : part_(layout.part_elements()) {
    const auto rows = layout.operand_rows();
    for (std::size_t i = 0; i < layout.operands; ++i) {
      targets_.emplace_back(context, scratch, i,
                            rows[i].count() * static_cast<std::int64_t>(3 / layout.operands));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      matrices_[i] = {scratch, rows[i], bool{targets_[i % layout.operands]}};
    }
  }
  math::AttentionGradients<C> data(graph::KernelContext& call) const {
    return {matrices_[0].data(call, lies(call, 0)), matrices_[1].data(call, lies(call, 1)),
            matrices_[2].data(call, lies(call, 2)), nullptr};
  }
  void store(graph::KernelContext& call) const {
    for (std::size_t i = 0; i < matrices_.size(); ++i) matrices_[i].store(call, lies(call, i));
    for (const ComputeOut<C>& target : targets_) target.store(call);
  }

 private:
  C* lies(graph::KernelContext& call, std::size_t i) const {
    if (i < targets_.size()) return targets_[i].data(call);
    C* const first = targets_[0].data(call);
    return first != nullptr ? first + static_cast<std::int64_t>(i) * part_ : nullptr;
  }

  std::vector<ComputeOut<C>> targets_;
  std::array<HeadMatrices<C>, 3> matrices_;
  std::int64_t part_;
};

}  // namespace ondine::kernels::ops
