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
class Uses {
 public:
  explicit Uses(const GraphDef& graph) { collect(graph); }

  // The nodes that compute with a value, looking through operators for which only_moves() is true.
  std::vector<Use> of(std::string_view name) const;
  // Whether both Sin and Cos, and nothing else, read the value or products with it.
  bool gives_angles(std::string_view name) const;

 private:
  void collect(const GraphDef& graph);

  std::map<std::string, std::vector<Use>, std::less<>> readers_;
};

// What tensors of one element are used for.
class SingleTerms {
 public:
  explicit SingleTerms(const GraphDef& graph);

  // Whether every reader computes with the element as code does with a number: the other case of a
  // Where, a bound, a factor, a term. False for the bias of a layer, and where a reader is unknown.
  bool is_constant(std::string_view name) const;

 private:
  bool is_number(const Use& use) const;

  Uses uses_;
  std::map<std::string, bool, std::less<>> is_product_;  // of the main graph's values
};

}  // namespace ondine::graph
