// Where the values of a graph come from, through subgraphs and functions.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {

// A name in the main graph (scope 0), in a subgraph, or in the body of a function that is called.
struct ScopedValue {
  std::size_t scope = 0;
  std::string name;

  auto operator<=>(const ScopedValue&) const = default;
};

class ValueTrace {
 public:
  // Both must outlive it.
  ValueTrace(const GraphDef& main, std::span<const FunctionDef> functions);

  // The node of the value's own scope that makes it, or nullptr.
  const NodeDef* producer(const ScopedValue& value) const;
  // The producer if it is an operator of ai.onnx; nullptr otherwise.
  const NodeDef* standard_producer(const ScopedValue& value) const;

  // The values that this one is under another name, one of them where branches or iterations
  // differ: what a subgraph captures, what a node passes to its subgraphs or to a function, what
  // comes out of these. Elements and slices stand for the whole. Empty for other values. Throws
  // Error(limit) for models that call functions more often than any exporter does.
  std::vector<ScopedValue> aliases(const ScopedValue& value);

  // Whether it depends on initializers and constants alone.
  bool is_constant(const ScopedValue& value) const;
  // The initializer of this name in the value's own scope, or nullptr.
  const InitializerDef* initializer(const ScopedValue& value) const;

 private:
  struct Scope {
    std::size_t parent = 0;
    const NodeDef* holder = nullptr;  // nullptr for the main graph
    bool is_function = false;
    Producers producers;
    Strings constants;
    std::map<std::string_view, const InitializerDef*> initializers;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  };

  void add_nodes(std::size_t scope, std::span<const NodeDef> nodes);
  void add_graph(std::size_t scope, const GraphDef& graph);
  std::size_t scope_of(std::size_t parent, const NodeDef& holder, const GraphDef& body);
  std::size_t scope_of(std::size_t parent, const NodeDef& holder, const FunctionDef& function);
  Scope& add_scope(std::size_t parent, const NodeDef& holder);
  void add_inside(const ScopedValue& value, const NodeDef& node, std::vector<ScopedValue>& result);
  void add_outside(const ScopedValue& value, std::vector<ScopedValue>& result) const;

  std::span<const FunctionDef> functions_;
  std::deque<Scope> scopes_;
  // Inner scopes by the scope and the node that hold them, and the body.
  std::map<std::tuple<std::size_t, const NodeDef*, const void*>, std::size_t> inner_;
};

// Whether `decide(node, scope)` holds of what makes a value: of one of the nodes at least (`any`),
// or of all. Looks through subgraphs and functions, and from a node to that of its inputs that
// `passes(node, scope)` names.
template <class Passes, class Decide>
bool made_so(ValueTrace& trace, ScopedValue value, bool any, Passes passes, Decide decide) {
  std::set<ScopedValue> seen;
  std::vector<ScopedValue> open{std::move(value)};
  while (!open.empty()) {
    const ScopedValue one = std::move(open.back());
    open.pop_back();
    if (!seen.insert(one).second) continue;
    const std::vector<ScopedValue> aliases = trace.aliases(one);
    open.insert(open.end(), aliases.rbegin(), aliases.rend());
    if (!aliases.empty()) continue;
    const NodeDef* node = trace.producer(one);
    const auto next = node == nullptr ? std::optional<std::size_t>() : passes(*node, one.scope);
    if (next && *next < node->inputs.size()) {
      open.push_back({one.scope, node->inputs[*next]});
    } else if ((node != nullptr && decide(*node, one.scope)) == any) {
      return any;
    }
  }
  return !any;
}

// Operators whose subgraph sees what the node reads and gives what it writes.
bool runs_body(const NodeDef& node) noexcept;
// Differences between the place of a value among the node's inputs and that among the inputs of its
// subgraph, and likewise of outputs.
struct BodyPlaces {
  std::size_t input_shift = 0;   // node's minus subgraph's
  std::size_t output_shift = 0;  // subgraph's minus node's
  std::size_t first_state = 0;   // among the inputs of the subgraph
  std::size_t states = 0;        // carried from one iteration to the next
};
BodyPlaces body_places(const NodeDef& node, const GraphDef& body);

}  // namespace ondine::graph
