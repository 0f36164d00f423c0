// embed_layer_normalization.cpp — com.microsoft EmbedLayerNormalization: the standard's
// LayerNormalization of the sum of the embeddings of words, positions and segments. Outputs: the
// result, the number of ones of each row of the mask, and the sum.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  ids_in,
  segments_in,
  words_in,
  positions_in,
  segment_table_in,
  gamma_in,
  beta_in,
  mask_in,
  position_ids_in
};

void infer(InferContext& context) {
  check_call(context, {.required = 0b1101101,
                       .inputs = 9,
                       .outputs = 3,
                       .attributes = {"epsilon", "mask_index_type"}});
  if (context.has_input(segments_in) != context.has_input(segment_table_in)) {
    context.reject("segment_ids and segment_embedding must be given together");
  }
  require_floats(context, {words_in, positions_in, segment_table_in, gamma_in, beta_in});
  const Dims ids = dims_of_rank(context, ids_in, 2, "input_ids");
  Dim hidden;
  for (const std::size_t i : {words_in, positions_in, segment_table_in}) {
    if (!context.has_input(i)) continue;
    hidden = unify(hidden, dims_of_rank(context, i, 2, "an embedding")[1], "hidden sizes");
  }
  for (const std::size_t i : {gamma_in, beta_in}) {
    hidden = unify(hidden, dims_of_rank(context, i, 1, "gamma and beta")[0], "hidden sizes");
  }
  const Dims y{ids[0], ids[1], hidden};
  context.set_output(0, context.dtype(words_in), y);
  context.set_output(1, DType::int32, Dims{ids[0]});
  context.set_output(2, context.dtype(words_in), y);
}

Val positions(ExpandContext& context) {
  const Val table = context.x(positions_in);
  if (const Val ids = context.x(position_ids_in)) return graph::gather(table, ids, 0);
  Builder& b = context.builder();
  const Val length = graph::squeeze(graph::dim_of(context.x(ids_in), 1), {0});
  return graph::gather(table, b.node("Range", {b.int64(0), length, b.int64(1)}), 0);
}

Val mask_index(ExpandContext& context) {
  const Val mask = context.x(mask_in);
  if (!mask) {
    return graph::expand(context.builder().scalar(0, DType::int32),
                         graph::dim_of(context.x(ids_in), 0));
  }
  const Val ones = graph::equal(mask, graph::scalar_like(mask, 1));
  return graph::reduce_sum(graph::cast(ones, DType::int32), {1}, false);
}

std::vector<Val> expand(ExpandContext& context) {
  Val sum = graph::gather(context.x(words_in), context.x(ids_in), 0) + positions(context);
  if (const Val segments = context.x(segments_in)) {
    sum = sum + graph::gather(context.x(segment_table_in), segments, 0);
  }
  const Val y = context.builder().node(
      "LayerNormalization", {sum, context.x(gamma_in), context.x(beta_in)},
      {{"axis", std::int64_t{-1}}, {"epsilon", context.attr_float("epsilon", 1e-12F)}});
  return {y, context.has_output(1) ? mask_index(context) : Val(), sum};
}

}  // namespace

extern const OpDef embed_layer_normalization{
    .name = "EmbedLayerNormalization", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
