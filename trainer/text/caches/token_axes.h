// Proof that a graph computes a token from that token and those before it, and where these meet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/text/caches/length_values.h"

namespace ondine::text {

// Axes of a value that tokens decide, in a graph that reads one text.
struct TokenAxes {
  std::size_t token = 0;           // each place follows from the token of that place
  std::optional<std::size_t> key;  // in scores of attention: the token that is seen
  // Whether the scores of later tokens are minus infinity, or far below all others.
  bool is_masked = false;
  // Whether the weights of later tokens are 0.
  bool is_causal = false;
};

// An operand that the length alone decides, among others that tokens decide.
struct LengthOperand {
  std::size_t node = 0, input = 0;
  std::optional<std::size_t> token, key;  // its axes of tokens and of those that are seen
};

// An operand with all tokens that are seen: keys or values.
struct SeenOperand {
  std::size_t node = 0, input = 0;
  std::size_t axis = 0;
};

struct CacheSites {
  std::vector<LengthOperand> lengths;
  std::vector<SeenOperand> seen;
  std::vector<std::size_t> softmaxes;   // nodes over the tokens that are seen
  std::vector<std::size_t> attentions;  // nodes Attention
};

// Error(unsupported) that names the first node for which there is no proof. Nodes compute each
// token by itself (element-wise operators, products with weights, normalizations of features),
// but for products of queries and keys and of weights and values, with a Softmax of masked scores
// between them, and Attention that is causal or masked.
CacheSites find_cache_sites(const graph::Graph& graph, const TextInputs& inputs,
                            graph::ValueId scores, LengthValues& lengths);

}  // namespace ondine::text
