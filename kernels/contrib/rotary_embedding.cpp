// rotary_embedding.cpp — com.microsoft RotaryEmbedding: the standard's, with the position ids as
// input 1: one for each element of the sequence, or that of the first.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { x_in, positions_in, cos_in, sin_in };

void infer(InferContext& context) {
  check_call(context, {.required = 0b1111,
                       .inputs = 4,
                       .attributes = {"interleaved", "is_packed_batching", "num_heads",
                                      "rotary_embedding_dim", "scale"}});
  require_floats(context, {x_in, cos_in, sin_in});
  require_value(context, "is_packed_batching", 0);
  if (context.attr_float("scale", 1) != 1) {
    fail(ErrorCode::unsupported, "scale is not 1, which is not supported");
  }
  if (context.ranked(x_in) && context.rank(x_in) != 3 && context.rank(x_in) != 4) {
    context.reject("the input must have rank 3 or 4, found ", context.rank(x_in));
  }
  if (context.ranked(positions_in) && context.rank(positions_in) != 1 &&
      context.rank(positions_in) != 2) {
    context.reject("position_ids must have rank 1 or 2, found ", context.rank(positions_in));
  }
  dims_of_rank(context, cos_in, 2, "cos_cache");
  dims_of_rank(context, sin_in, 2, "sin_cache");
  infer_same_as_input(context);
}

// Of x of rank 3: the attribute, or what the caches tell.
std::int64_t heads(ExpandContext& context) {
  if (const std::int64_t given = context.attr_int("num_heads", 0); given > 0) return given;
  const Dim hidden = context.x(x_in).dims()[2];
  const Dim half = context.x(cos_in).ranked() ? context.x(cos_in).dims()[1] : Dim();
  const bool partial = context.attr_int("rotary_embedding_dim", 0) > 0;
  const bool known = hidden.known() && half.known() && half.size() > 0 && !partial;
  if (!known || hidden.size() % (2 * half.size()) != 0) {
    fail(ErrorCode::unsupported, "num_heads is missing and does not follow from the shapes");
  }
  return hidden.size() / (2 * half.size());
}

// [batch, sequence_length]
Val all_positions(ExpandContext& context) {
  const Val given = context.x(positions_in);
  require_rank(context, given);
  if (given.rank() == 2) return given;
  Builder& b = context.builder();
  const Val x = context.x(x_in);
  const Val length = graph::dim_of(x, x.rank() == 3 ? 1 : 2);
  const Val steps = b.node("Range", {b.int64(0), graph::squeeze(length, {0}), b.int64(1)});
  const Val shape[] = {graph::dim_of(x, 0), length};
  return graph::expand(given + steps, graph::concat(shape, 0));
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(x_in);
  require_rank(context, x);
  Attributes attributes = pick_attributes(context, {"interleaved", "rotary_embedding_dim"});
  if (x.rank() == 3) attributes.emplace_back("num_heads", heads(context));
  return {context.builder().node("RotaryEmbedding",
                                 {x, context.x(cos_in), context.x(sin_in), all_positions(context)},
                                 std::move(attributes))};
}

}  // namespace

extern const OpDef contrib_rotary_embedding{
    .name = "RotaryEmbedding", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
