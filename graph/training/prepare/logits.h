// Logits behind probabilities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"
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
// `value`. Looks through Identity, Cast, Reshape, Squeeze, Unsqueeze, Flatten, Transpose and If,
// and recognizes Softmax, LogSoftmax and Sigmoid written as several nodes. An If gets an additional
// output with the logits of both branches. Empty if there are no logits.
std::optional<Logits> find_logits(GraphDef& graph, Names& names, std::int64_t opset,
                                  const std::string& value, Loss loss);

// The node that makes `value` a probability, such as "Softmax 'node_p'", found through operators
// that preserve probabilities; "" if there is none.
std::string probability_source(const GraphDef& graph, const std::string& value);
// Whether `value` is the logarithm of probabilities.
bool is_log_probability(const GraphDef& graph, const std::string& value);

// Operators that only move or convert elements and keep all of them.
bool keeps_elements(const NodeDef& node) noexcept;
// "Softmax 'node_p'"
std::string named_operator(const NodeDef& node);

}  // namespace ondine::graph
