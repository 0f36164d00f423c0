// Rules that ScaledAttention and PackedAttention share. `operands`: 3 (q, k and v), or 1 that holds
// all of them; the mask and the second mask follow them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kernels/attention/attention_shape.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {

// Rejects a mask, if there is one at `index`, that does not broadcast to the scores.
void check_mask(InferContext& context, std::size_t index, const Dims& scores);

// Which rows of a mask hide all keys, with one key.
Val hidden_rows(Val mask);

// Rejects an attribute `replaces` that is none, and a cap below 0.
void check_attributes(const InferContext& context);

// Sum of the masks that is added to scores; none if there is no mask.
Val total_mask(math::Replaced replaced, Val mask, Val more);
// `x` where the second mask is 0, `instead` where it stands in the place of something.
Val where_replaced(Val more, Val x, Val instead);

// Infers the derivatives of the operands and the mask, which follow dy. `y`: what dy must be, where
// that is known.
void infer_attention_gradient(InferContext& context, const std::optional<Dims>& y,
                              std::size_t operands);

// The gradient rule: one node of `op`, whose masks are swapped where only the second has a
// derivative; a node for each where both have.
std::vector<Val> attention_gradient(GradContext& g, std::string_view op, std::size_t operands);

}  // namespace ondine::kernels::ops
