// The resolved graph: values are ids, nodes refer to their operators, functions are inlined.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/tensor.h>

#include "core/special_members.h"
#include "graph/ir/boxed.h"
#include "graph/ir/boxed_list.h"
#include "graph/ir/document.h"
#include "graph/ir/name_index.h"
#include "graph/ir/type.h"

namespace ondine::graph {

struct OpDef;
struct Graph;

// A graph held by a node (a branch, a loop body). It reads outer values only through captures: the
// last captures.size() inputs of `graph` stand for the outer values `captures`, in order.
struct Subgraph {
  std::string attribute;  // "then_branch", "body", ...
  std::shared_ptr<const Graph> graph;
  std::vector<ValueId> captures;

  std::size_t formal_inputs() const;
};

// The inputs of a node, then the captures of each of its subgraphs. Without subgraphs it refers to
// the node's inputs, which must neither change nor go.
class AllInputs {
 public:
  AllInputs(const std::vector<ValueId>& inputs, const BoxedList<Subgraph>& subgraphs);
  AllInputs(const AllInputs&) = delete;
  AllInputs& operator=(const AllInputs&) = delete;

  const ValueId* begin() const noexcept { return ids_.data(); }
  const ValueId* end() const noexcept { return ids_.data() + ids_.size(); }
  std::size_t size() const noexcept { return ids_.size(); }
  ValueId operator[](std::size_t i) const { return ids_[i]; }

 private:
  std::vector<ValueId> joined_;
  std::span<const ValueId> ids_;
};

struct Node {
  const OpDef* op = nullptr;
  std::int64_t version = 0;  // opset version that defines the node
  std::string name;
  std::vector<ValueId> inputs;   // no_value where omitted
  std::vector<ValueId> outputs;  // no_value where unused
  Attributes attributes;         // without graphs
  BoxedList<Subgraph> subgraphs;
  // Gradient only: the tensors its attributes name: xs, then zs, then y.
  BoxedList<ValueId> references;
  std::uint32_t stream = 0;  // random stream; a copy of the node draws the same numbers
  // "node 'q1' (QLinearMatMul-21)" or "the derivative of node 'fc1' (Gemm-13)": what the node was
  // made from, for messages. nullptr for nodes of the model.
  std::shared_ptr<const std::string> origin;

  ONDINE_DECLARE_SPECIAL_MEMBERS(Node);

  AllInputs all_inputs() const { return {inputs, subgraphs}; }
};

struct GraphValue {
  std::string name;  // unique in the graph, and never changed: the graph finds values by it
  Type type;
  Boxed<Type> declared;                   // as the model declares it; kind unknown when it does not
  Boxed<Tensor> constant;                 // defined when the value is constant
  Boxed<std::optional<Dims>> known_dims;  // elements of an int64 vector or scalar, where known
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

  ONDINE_DECLARE_SPECIAL_MEMBERS(Graph);

  ValueId add_value(std::string name, Type type = {});
  // Under an unused name: `hint`, or `hint` with a number.
  ValueId add_temporary(const std::string& hint, Type type = {});
  const GraphValue& operator[](ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  GraphValue& operator[](ValueId id) { return values[static_cast<std::size_t>(id)]; }
  // no_value when there is none.
  ValueId find(std::string_view name) const noexcept;

 private:
  NameIndex by_name_;
  std::uint64_t temporaries_ = 0;
};

// "node 'fc1' (Gemm-13)"; unnamed nodes by their first output. "MatMul of node 'fc1' (Gemm-13)" for
// nodes that were made from another.
std::string describe(const Node& node, const Graph& graph);

}  // namespace ondine::graph
