// The parts of check_structure, one subject a file. Internal to graph/check.
#pragma once

#include <set>

#include "graph/check/function_table.h"
#include "graph/check/missing_operators.h"
#include "graph/check/opsets.h"
#include "graph/check/place.h"
#include "graph/check/scope.h"
#include "graph/check/structure.h"
#include "graph/contract/signature.h"

namespace ondine::graph {

struct CheckContext {
  const ModelDef& model;
  const Catalogue& catalogue;
  const Limits& limits;
  Findings& findings;
  FunctionTable functions;
  MissingOperators missing;
  // The attributes of each function, with the type of their default (undefined: none).
  std::vector<std::unordered_map<std::string_view, AttributeKind>> parameters;
  std::uint64_t gradient_steps = 0;  // names visited for Gradient nodes so far
};

// What holds for all nodes of the model's graphs, or of one function.
struct Environment {
  Opsets opsets;
  const FunctionDef* function = nullptr;
  std::optional<std::size_t> function_index;
  std::set<std::string, std::less<>> not_imported;  // domains that were found missing
};

// Where a rule is looked at.
struct Site {
  CheckContext& context;
  Environment& environment;
  const Place& place;

  template <class... Parts>
  void add(ErrorCode code, const Parts&... parts) const {
    context.findings.add(code, parts..., within(place));
  }
  // Error(invalid_model) about a node.
  template <class... Parts>
  void reject(const NodeDef& node, const Parts&... parts) const {
    add(ErrorCode::invalid_model, describe(node), " ", parts...);
  }
};

enum class GraphRole { main, algorithm, initialization, body };

// Versions, imports, IR version.
void check_header(CheckContext& context);
// Names, ranks, bytes, counts. False when graphs are nested too deeply to look any further.
bool check_limits(CheckContext& context);

// Defines the graph's names in `scope` (for an algorithm: inside the scope of the main graph) and
// checks all that is in it.
void check_graph(const GraphDef& graph, GraphRole role, Scope& scope, const Site& site);
// Nodes in their order; defines their outputs.
void check_nodes(const std::vector<NodeDef>& nodes, Scope& scope, const Site& site);
// A declared type: rank, extents; `required`: it must say what is needed to feed a value.
void check_declared(const ValueDef& value, std::string_view what, bool required, const Site& site);
// A tensor of this dtype and shape against what is declared: nothing when it fits, or the reason.
std::optional<std::string> contradiction(DType dtype, const Shape& shape, const TypeDef& declared);

// Operator, arity, attributes and the rules of special operators.
void check_node(const NodeDef& node, const Scope& scope, const Site& site);
// Attributes on their own: names and references.
void check_attributes(const NodeDef& node, const Site& site);
void check_attributes(const NodeDef& node, const Signature& signature, const Site& site);
// The number of inputs and outputs of the graphs that If, Loop, Scan and SequenceMap hold.
void check_bodies(const NodeDef& node, std::int64_t version, const Site& site);
void check_optimizer(const NodeDef& node, const Site& site);
void check_gradient(const NodeDef& node, const Scope& scope, const Site& site);

void check_functions(CheckContext& context);
void check_call(const NodeDef& node, std::size_t function, const Site& site);
// Recursion, call depth and sizes after inlining. Returns which functions are called at all.
std::vector<bool> check_calls(CheckContext& context);

// `main` has the names of the main graph, `environment` is that of the model's graphs.
void check_training(CheckContext& context, const Scope& main, Environment& environment);

}  // namespace ondine::graph
