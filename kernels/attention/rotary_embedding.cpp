// rotary_embedding.cpp — rotates pairs (a, b) of the first rotary_embedding_dim elements of each
// head by an angle that depends on the position: (a cos - b sin, a sin + b cos). The elements of a
// pair come from the two halves, or are adjacent with `interleaved`. An expansion into
// RotatePairs.
#include "kernels/attention/grouped_heads.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const Type& x = context.input(0);
  if (x.ranked() && x.rank() != 3 && x.rank() != 4) {
    context.reject("X must have rank 3 or 4, found ", graph::to_string(*x.dims));
  }
  const std::int64_t heads = context.attr_int("num_heads", 0);
  if (x.ranked() && x.rank() == 3) {
    if (heads < 1) context.reject("num_heads is ", heads, ", needed: 1 or more for X of rank 3");
    const Dim hidden = (*x.dims)[2];
    if (hidden.known() && hidden.size() % heads != 0) {
      context.reject("hidden size ", hidden.size(), " is not a multiple of ", heads, " heads");
    }
  }
  const std::int64_t part = context.attr_int("rotary_embedding_dim", 0);
  if (part < 0 || part % 2 != 0) context.reject("rotary_embedding_dim is ", part);
  const std::size_t rank = context.has_input(3) ? 2 : 3;
  dims_of_rank(context, 1, rank, "cos_cache");
  dims_of_rank(context, 2, rank, "sin_cache");
  context.set_output(0, x);
}

std::vector<Val> expand(ExpandContext& context) {
  Val x = context.x(0);
  if (!x.ranked()) fail(ErrorCode::unsupported, "RotaryEmbedding needs a known rank");
  const bool flat = x.rank() == 3;
  // [batch, sequence_length, heads, head_size] or [batch, heads, sequence_length, head_size]
  if (flat) x = split_heads(x, context.attr_int("num_heads", 0));
  const auto table = [&](std::size_t i) {
    Val cache = context.x(i);
    if (context.x(3)) cache = graph::gather(cache, context.x(3), 0);
    return graph::unsqueeze(cache, {flat ? 2 : 1});
  };
  const Val rotated =
      context.builder().node("RotatePairs", {x, table(1), table(2)},
                             {{"rotary_dim", context.attr_int("rotary_embedding_dim", 0)},
                              {"interleaved", context.attr_int("interleaved", 0)},
                              {"per_pair", std::int64_t{1}}},
                             ondine_domain);
  return {flat ? graph::reshape_like(rotated, context.x(0)) : rotated};
}

}  // namespace

extern const OpDef rotary_embedding{.name = "RotaryEmbedding", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
