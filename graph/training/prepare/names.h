// Names of a model, and new names that do not clash with them.
#pragma once

#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

class Names {
 public:
  // Every name of the model's graphs, those of branches and subgraphs included.
  explicit Names(const ModelDef& model);

  bool contains(std::string_view name) const { return names_.find(name) != names_.end(); }
  // `hint`, or `hint` with a number; reserved from now on.
  std::string fresh(const std::string& hint);

 private:
  void collect(const GraphDef& graph);

  std::set<std::string, std::less<>> names_;
  std::unordered_map<std::string, std::size_t> used_;  // the last number given to a hint
};

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) noexcept;
// Whether the node is the operator `op` of ai.onnx.
bool is_standard(const NodeDef& node, std::string_view op) noexcept;
// Whether the node is a normalization of ai.onnx with a scale and a bias.
bool is_normalization(const NodeDef& node) noexcept;

// Outer names that `graph` reads.
std::set<std::string> captured_names(const GraphDef& graph);
// The subgraphs that a node holds.
std::vector<std::shared_ptr<const GraphDef>> subgraphs_of(const NodeDef& node);
// Non-empty inputs, then the captures of the subgraphs.
std::vector<std::string> reads_of(const NodeDef& node);
// Values that the nodes of a graph read, subgraphs included, and the graph's outputs.
std::set<std::string> reads_of(const GraphDef& graph);

}  // namespace ondine::graph
