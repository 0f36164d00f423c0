// Softmax and Sigmoid as exporters write them, as one node or as several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/training/prepare/prediction/logits.h"

namespace ondine::graph {

// The nodes and constants of a graph; constants of the graphs around it, too.
class LocalGraph {
 public:
  // Both must outlive it.
  LocalGraph(const GraphDef& graph, const LocalGraph* outer) : graph_(&graph), outer_(outer) {
    index();
  }

  // Must be called after changes of the nodes.
  void index();

  // Index of the node that makes a value; the number of nodes if none does.
  std::size_t index_of(const std::string& value) const;
  const NodeDef* producer(const std::string& value) const;
  // The node that makes input `index`, through what spreads its elements.
  const NodeDef* maker(const NodeDef& node, std::size_t index) const;
  // Looks through Identity and Cast.
  std::string plain(std::string value) const;

  // As constant_integers() and constant_number().
  std::optional<std::vector<std::int64_t>> integers(const std::string& name) const;
  std::optional<double> number(const std::string& name) const;

 private:
  const GraphDef* graph_;
  const LocalGraph* outer_;
  std::unordered_map<std::string, std::size_t> producers_;
};

// The logits if `node` is a Softmax or LogSoftmax, or the last node of one that is written with
// others: e^z over its sum, the logarithm of that, z less the logarithm of the sum.
std::optional<Logits> before_softmax(const LocalGraph& graph, const NodeDef& node,
                                     std::int64_t opset);
// The logits if `node` is a Sigmoid, or the last node of 1 / (1 + e^-x).
std::optional<Logits> before_sigmoid(const LocalGraph& graph, const NodeDef& node);

}  // namespace ondine::graph
