// rotary_embedding.cpp — com.microsoft RotaryEmbedding: the standard's, with the position ids as
// input 1: one for each element of the sequence, or that of the first.
#include "kernels/attention/grouped_heads.h"
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

// x of rank 3 as [batch, heads, sequence_length, head_size], with the head size of the caches.
Val split_by_caches(ExpandContext& context) {
  const Val cos = context.x(cos_in);
  const bool partial = context.attr_int("rotary_embedding_dim", 0) > 0;
  if (partial || !cos.ranked() || !cos.dims()[1].known()) {
    fail(ErrorCode::unsupported, "num_heads is missing and does not follow from the shapes");
  }
  const Val heads = graph::reshape(context.x(x_in), {0, 0, -1, 2 * cos.dims()[1].size()});
  return graph::transpose(heads, {0, 2, 1, 3});
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
  const std::int64_t heads = context.attr_int("num_heads", 0);
  const bool split = x.rank() == 3 && heads <= 0;
  if (x.rank() == 3 && !split) attributes.emplace_back("num_heads", heads);
  const Val y = context.builder().node("RotaryEmbedding",
                                       {split ? split_by_caches(context) : x, context.x(cos_in),
                                        context.x(sin_in), all_positions(context)},
                                       std::move(attributes));
  return {split ? join_heads(graph::transpose(y, {0, 2, 1, 3})) : y};
}

}  // namespace

extern const OpDef contrib_rotary_embedding{
    .name = "RotaryEmbedding", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
