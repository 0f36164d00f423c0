// Shared by Attention, QAttention, MultiHeadAttention and GroupQueryAttention: softmax(scale q k^T
// + bias) v for each head, by the standard's Attention.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"

namespace ondine::kernels {

// Queries, keys, values or all of them plus the bias of their projection, which may be omitted.
graph::Val add_projection_bias(graph::Val projected, graph::Val bias);
// [batch, sequence_length, heads head_size] -> [batch, heads, sequence_length, head_size].
graph::Val to_heads(graph::Val x, std::int64_t heads);

// A padding mask as what is added to the scores: 0 for keys that count, `filter` for the others.
// By its rank the mask holds
//   1  the number of keys of each sample; in Attention it may be twice as long and hold the ends
//      of all samples, then their beginnings,
//   2  for each sample and key, 3 for each sample, query and key, 4 the same for each head, whether
//      the key counts (more than 0).
// `keys` is [batch, heads, total_sequence_length, head_size]. Error(unsupported) for other ranks.
graph::Val padding_bias(graph::Val mask, graph::Val keys, double filter);

struct AttentionOperands {
  graph::Val q, k, v;    // [batch, heads, sequence_length, head_size]
  graph::Val bias = {};  // added to the scores
  graph::Val past_k = {};
  graph::Val past_v = {};
};

struct AttentionResults {
  graph::Val y;  // [batch, sequence_length, heads head_size]
  graph::Val present_k, present_v;
};

// Reads the attributes scale, softcap and unidirectional of the node.
AttentionResults attend(const graph::NodeView& node, const AttentionOperands& operands,
                        bool with_present);

// Attention and QAttention after the projection. `projected`: q, k and v side by side in the last
// axis. `past` and the second result: keys and values as [2, batch, heads, length, size].
struct SelfAttentionInputs {
  graph::Val projected, mask, past, bias;
};
std::vector<graph::Val> self_attention(const graph::ExpandContext& context,
                                       const SelfAttentionInputs& inputs);
// Sets both outputs. `x` is the input of the projection, `v_hidden` the width of y.
void infer_self_attention(graph::InferContext& context, const graph::Dims& x, graph::Dim v_hidden,
                          std::size_t past, DType dtype);

}  // namespace ondine::kernels
