// Where the values of a graph are made and read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// The node that makes each value.
using Producers = std::map<std::string, const NodeDef*, std::less<>>;
Producers producers_of(std::span<const NodeDef> nodes);
inline Producers producers_of(const GraphDef& graph) { return producers_of(graph.nodes); }
// The node that makes a value, if it is an operator of ai.onnx; otherwise null.
const NodeDef* standard_producer(const Producers& producers, std::string_view value);

struct Use {
  const NodeDef* node = nullptr;
  std::size_t input = 0;
};

// Operators whose result consists of elements of their first input only, in another type, order or
// shape, or quantized.
bool only_moves(const NodeDef& node) noexcept;

// The readers of every value, those in subgraphs included.
class DocumentUses {
 public:
  explicit DocumentUses(const GraphDef& graph) { collect(graph); }

  // The nodes that read a value.
  std::span<const Use> direct(std::string_view name) const;
  // The nodes that compute with a value, looking through operators for which only_moves() is true.
  std::vector<Use> of(std::string_view name) const;
  // Whether Sin and Cos, and nothing else, read the value or products with it; `both` or any.
  bool gives_angles(std::string_view name, bool both = true) const;

 private:
  void collect(const GraphDef& graph);

  std::map<std::string, std::vector<Use>, std::less<>> readers_;
};

}  // namespace ondine::graph
