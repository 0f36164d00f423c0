// require_rank.cpp — RequireRank (ai.ondine): y = x where the rank of x is among `ranks`; others
// are refused with the text `needed`. Expansions put it before inputs whose rank only a run tells,
// as nothing else of the operator is left then;  dx = dy.
#include <algorithm>
#include <cstring>

#include "kernels/common/op.h"

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

Kernel bind(BindContext& context) {
  if (context.dtype(0) == DType::string) {
    return [](KernelContext& call) { call.set_value(0, call.value(0)); };
  }
  const auto bytes = static_cast<std::size_t>(context.shape(0).size()) * size_of(context.dtype(0));
  return [bytes](KernelContext& call) {
    if (bytes > 0 && call.out<void>(0) != call.in<void>(0)) {
      std::memcpy(call.out<void>(0), call.in<void>(0), bytes);
    }
  };
}

std::vector<Val> grad(GradContext& g) { return {g.dy(0)}; }

std::vector<Val> expand(ExpandContext& context) { return {unary("Identity", context.x(0))}; }

}  // namespace

extern const OpDef require_rank{.name = "RequireRank",
                                .domain = ondine_domain,
                                .infer = infer,
                                .bind = bind,
                                .grad = grad,
                                .expand = expand,
                                .traits = {.inplace = 1, .view = true, .cheap = true}};

}  // namespace ondine::kernels::ops
