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
  std::vector<NodeDef> moves;  // what makes the value that was asked for of the probabilities
  // Over which a Softmax sums, in `value`; below 0 from the end. Nothing for a Sigmoid, or unknown.
  std::optional<std::int64_t> axis;
  bool flattens = false;  // Softmax before version 13: over all axes from `axis` on
  std::string made_by;    // "Softmax 'node_p'"
};

// The logits of which Softmax (of softmax_cross_entropy) or Sigmoid (of bce_with_logits) makes
// `value`, found through Identity, Cast, Reshape, Squeeze, Unsqueeze, Flatten, Transpose and If,
// also where Softmax, LogSoftmax or Sigmoid are written as several nodes. An If gets one output
// more, the logits of both branches. Nothing when there are none.
std::optional<Logits> find_logits(GraphDef& graph, Names& names, std::int64_t opset,
                                  const std::string& value, Loss loss);

// What makes `value` probabilities, through operators that keep them such, as "Softmax 'node_p'";
// "" where nothing shows that it is any.
std::string probability_source(const GraphDef& graph, const std::string& value);
// Whether `value` is the logarithm of probabilities.
bool is_log_probability(const GraphDef& graph, const std::string& value);

// Operators that only move or convert elements and keep all of them.
bool keeps_elements(const NodeDef& node) noexcept;
// "Softmax 'node_p'"
std::string named_operator(const NodeDef& node);

}  // namespace ondine::graph
