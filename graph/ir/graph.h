// The resolved graph: values are ids, nodes refer to their operators, functions are inlined.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ondine/tensor.h>

#include "graph/ir/document.h"
#include "graph/ir/type.h"

namespace ondine::graph {

struct OpDef;
struct Graph;

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;

// A graph held by a node (a branch, a loop body). It reads outer values only through captures: the
// last captures.size() inputs of `graph` stand for the outer values `captures`, in order.
struct Subgraph {
  std::string attribute;  // "then_branch", "body", ...
  std::shared_ptr<const Graph> graph;
  std::vector<ValueId> captures;

  std::size_t formal_inputs() const;
};

struct Node {
  const OpDef* op = nullptr;
  std::int64_t version = 0;  // opset version that defines the node
  std::string name;
  std::vector<ValueId> inputs;   // no_value where omitted
  std::vector<ValueId> outputs;  // no_value where unused
  Attributes attributes;         // without graphs
  std::vector<Subgraph> subgraphs;
  // Gradient only: the tensors its attributes name: xs, then zs, then y.
  std::vector<ValueId> references;
  std::uint32_t stream = 0;  // random stream; a copy of the node draws the same numbers

  // inputs, then the captures of each subgraph.
  std::vector<ValueId> all_inputs() const;
};

struct GraphValue {
  std::string name;  // unique in the graph
  Type type;
  Type declared;                   // as the model declares it; kind unknown when it does not
  Tensor constant;                 // defined when the value is constant
  std::optional<Dims> known_dims;  // elements of an int64 vector or scalar, where known
};

// The names of symbolic dims. Shared by all graphs of a model.
struct Symbols {
  std::vector<std::string> names;
  Dim get(std::string_view name);  // the dim with this name, added if new
};

struct Graph {
  std::string name;
  std::shared_ptr<Symbols> symbols;
  std::vector<GraphValue> values;
  std::vector<Node> nodes;  // in topological order
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  ValueId add_value(std::string name, Type type = {});
  // Under an unused name: `hint`, or `hint` with a number.
  ValueId add_temporary(const std::string& hint, Type type = {});
  const GraphValue& operator[](ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  GraphValue& operator[](ValueId id) { return values[static_cast<std::size_t>(id)]; }
  // no_value when there is none.
  ValueId find(std::string_view name) const noexcept;

 private:
  std::map<std::string, ValueId, std::less<>> by_name_;
  std::uint64_t temporaries_ = 0;
};

// "node 'fc1' (Gemm-13)"; unnamed nodes by their first output.
std::string describe(const Node& node, const Graph& graph);

}  // namespace ondine::graph
