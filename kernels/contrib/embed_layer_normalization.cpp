// embed_layer_normalization.cpp — com.microsoft EmbedLayerNormalization: the standard's
// LayerNormalization of the sum of the embeddings of words, positions and segments. Outputs: the
// result, the number of ones of each row of the mask, and the sum. QEmbedLayerNormalization has
// quantized tables, gamma and beta, and not the last output.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

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
  position_ids_in,  // not in QEmbedLayerNormalization
  // There, where the scale and the zero point of the input i are.
  scale_after = 6,
  point_after = 11
};

// `dtype` is that of the results.
void infer_tables(InferContext& context, DType dtype) {
  if (context.has_input(segments_in) != context.has_input(segment_table_in)) {
    context.reject("segment_ids and segment_embedding must be given together");
  }
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
  context.set_output(0, dtype, y);
  context.set_output(1, DType::int32, Dims{ids[0]});
  context.set_output(2, dtype, y);
}

void infer(InferContext& context) {
  check_call(context, {.required = 0b1101101,
                       .inputs = 9,
                       .outputs = 3,
                       .attributes = {"epsilon", "mask_index_type"}});
  require_floats(context, {words_in, positions_in, segment_table_in, gamma_in, beta_in});
  infer_tables(context, context.dtype(words_in));
}

void infer_quantized(InferContext& context) {
  check_call(context, {.required = 0b110111101101101101,
                       .inputs = 18,
                       .outputs = 2,
                       .attributes = {"epsilon", "mask_index_type"}});
  for (const std::size_t i : {words_in, positions_in, segment_table_in, gamma_in, beta_in}) {
    if (!context.has_input(i)) continue;
    require_quantized(context, i, i + scale_after, i + point_after);
  }
  infer_tables(context, context.dtype(words_in + scale_after));
}

// Input i, or its rows, as floats.
Val value(ExpandContext& context, std::size_t i, Val rows, bool quantized) {
  Val x = context.x(i);
  if (i != words_in) x = with_dims_of(x, {-1}, context.x(words_in), {1}, "hidden sizes");
  if (rows) x = graph::gather(x, rows, 0);
  if (!quantized) return x;
  return dequantize(x, context.x(i + scale_after), context.x(i + point_after));
}

// Positions of the words; by default 0, 1, 2, ...
Val positions(ExpandContext& context, bool quantized) {
  if (const Val ids = quantized ? Val() : context.x(position_ids_in)) return ids;
  Builder& b = context.builder();
  const Val length = graph::squeeze(graph::dim_of(context.x(ids_in), 1), {0});
  return b.node("Range", {b.int64(0), length, b.int64(1)});
}

Val mask_index(ExpandContext& context) {
  const Val mask = context.x(mask_in);
  if (!mask) {
    return context.builder().node("ConstantOfShape", {graph::dim_of(context.x(ids_in), 0)},
                                  {{"value", Tensor::of<std::int32_t>({1}, {0})}});
  }
  const Val ones = graph::equal(mask, graph::scalar_like(mask, 1));
  return graph::reduce_sum(graph::cast(ones, DType::int32), {1}, false);
}

template <bool quantized>
std::vector<Val> expand(ExpandContext& context) {
  Val sum = value(context, words_in, context.x(ids_in), quantized) +
            value(context, positions_in, positions(context, quantized), quantized);
  if (const Val segments = context.x(segments_in)) {
    sum = sum + value(context, segment_table_in, segments, quantized);
  }
  const Val y = context.builder().node(
      "LayerNormalization",
      {sum, value(context, gamma_in, {}, quantized), value(context, beta_in, {}, quantized)},
      {{"axis", std::int64_t{-1}}, {"epsilon", context.attr_float("epsilon", 1e-12F)}});
  return {y, context.has_output(1) ? mask_index(context) : Val(), sum};
}

}  // namespace

extern const OpDef embed_layer_normalization{.name = "EmbedLayerNormalization",
                                             .domain = contrib_domain,
                                             .infer = infer,
                                             .expand = expand<false>};
extern const OpDef qembed_layer_normalization{.name = "QEmbedLayerNormalization",
                                              .domain = contrib_domain,
                                              .infer = infer_quantized,
                                              .expand = expand<true>};

}  // namespace ondine::kernels::ops
