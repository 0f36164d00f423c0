// require_rank.cpp — RequireRank (ai.ondine): y = x where the rank of x is among `ranks`; others
// are refused with the text `needed`. Expansions put it before inputs whose rank only a run tells,
// as nothing else of the operator is left then;  dx = dy.
#include <algorithm>

#include "kernels/layout/checked_identity.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  context.set_output(0, context.input(0));
  if (!context.ranked(0)) return;
  const auto ranks = context.attr_ints("ranks");
  const auto rank = static_cast<std::int64_t>(context.rank(0));
  if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) return;
  context.reject(context.attr_string("needed", ""), ", found ", graph::to_string(context.dims(0)));
}

}  // namespace

extern const OpDef require_rank{.name = "RequireRank",
                                .domain = ondine_domain,
                                .infer = infer,
                                .bind = bind_identity,
                                .grad = identity_grad,
                                .expand = expand_to_identity,
                                .traits = {.inplace = 1, .view = true, .cheap = true}};

}  // namespace ondine::kernels::ops
