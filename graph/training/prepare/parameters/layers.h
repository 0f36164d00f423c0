// Layers of parameters, counted from the output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {

// Layers are nodes that combine parameters with data, counted from the end; an Add that puts the
// bias to the node before it belongs to that node.
class Layers {
 public:
  // `live`: the values through which a derivative flows.
  Layers(const GraphDef& graph, const Strings& live);

  // 0 for the last layer; the largest number for what belongs to none.
  std::size_t number_of(const std::string& parameter) const;

 private:
  bool reads_both(const NodeDef& node);
  void number(const NodeDef& node);
  void number_behind(std::string_view value, std::size_t layer);

  Producers producers_;
  std::unordered_set<std::string_view> parameters_;  // values that hold parameters alone
  std::unordered_map<std::string_view, std::size_t> number_;
  std::unordered_map<const NodeDef*, std::size_t> merged_;
  std::size_t count_ = 0;
};

}  // namespace ondine::graph
