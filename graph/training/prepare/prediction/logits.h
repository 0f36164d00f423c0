// Logits behind probabilities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/value_trace.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct Logits {
  std::string value;
  std::vector<NodeDef> moves;  // the nodes between the probabilities and the requested value
  // The Softmax axis in `value`, negative from the end. Empty for a Sigmoid or if unknown.
  std::optional<std::int64_t> axis;
  bool flattens = false;  // Softmax before version 13: over all axes from `axis` on
  std::string made_by;    // "Softmax 'node_p'"
};

// The logits from which a Softmax (for losses that read softmax) or else a Sigmoid computes
// `value` of the main graph. Looks through Identity, Cast, Reshape, Squeeze, Unsqueeze, Flatten,
// Transpose, quantization, If, what Loop and Scan stack, and functions, and recognizes Softmax,
// LogSoftmax and Sigmoid written as several nodes. Where the logits lie in a subgraph its node gets
// an additional output, calls of functions on the way are replaced by their nodes. Empty, and the
// model as it was, if there are no logits.
std::optional<Logits> find_logits(ModelDef& model, Names& names, const std::string& value,
                                  Loss loss);

// The next four functions follow values of the main graph through subgraphs and functions.
// The node that makes `value` a probability, such as "Softmax 'node_p'", found through operators
// that preserve probabilities; "" if there is none.
std::string probability_source(ValueTrace& trace, const std::string& value);
// Whether `value` is the logarithm of probabilities.
bool is_log_probability(ValueTrace& trace, const std::string& value);
// The layer that gives `value` as sums of products, such as "Gemm 'fc'"; "" if it is none.
std::string product_source(ValueTrace& trace, const std::string& value);
// Whether `value` is what a layer with a weight [features, classes] gives, so that its last axis
// are the classes. Looks through bias, factors, conversions and Tanh.
bool is_made_by_linear_layer(ValueTrace& trace, const std::string& value);

// Operators that only move or convert elements and keep all of them.
bool keeps_elements(const NodeDef& node) noexcept;
// "Softmax 'node_p'"
std::string named_operator(const NodeDef& node);

}  // namespace ondine::graph
