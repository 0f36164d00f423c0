// The rules that check_structure applies, one subject per file. Internal to graph/check.
#pragma once

#include <map>
#include <set>

#include "graph/check/function_attributes.h"
#include "graph/check/function_table.h"
#include "graph/check/location.h"
#include "graph/check/missing_operators.h"
#include "graph/check/scope.h"
#include "graph/check/structure.h"
#include "graph/contract/opsets.h"
#include "graph/contract/signature.h"

namespace ondine::graph {

// Whether the type has an element type and a shape of its own.
inline bool has_tensor_type(const TypeDef& type) noexcept {
  return type.kind == TypeKind::tensor || type.kind == TypeKind::sparse_tensor;
}

struct CheckContext {
  const ModelDef& model;
  const Catalogue& catalogue;
  const Limits& limits;
  Findings& findings;
  FunctionTable functions;
  MissingOperators missing = {};
  FunctionAttributes function_attributes = {};
  std::set<std::string_view> device_configurations = {};
  std::uint32_t nodes = 0;           // checked so far
  std::uint64_t gradient_steps = 0;  // names visited for Gradient nodes so far, bounded
  // Inputs on which an output of a function depends, for functions on a path of a Gradient.
  std::map<std::pair<std::size_t, std::string_view>, std::vector<std::size_t>> function_flow = {};
};

// Shared by all nodes of the model's graphs, or by all nodes of one function.
struct Environment {
  Opsets opsets;
  const FunctionDef* function = nullptr;
  std::optional<std::size_t> function_index;
  std::set<std::string, std::less<>> not_imported;  // domains already reported as missing
};

// Where a rule is applied; adds the location to findings.
struct Site {
  CheckContext& context;
  Environment& environment;
  const Location& location;

  template <class... Parts>
  void add(ErrorCode code, const Parts&... parts) const {
    context.findings.add(code, parts..., within(location));
  }
  // A warning unless the check is strict.
  template <class... Parts>
  void warn(const Parts&... parts) const {
    context.findings.warn(ErrorCode::invalid_model, parts..., within(location));
  }
  // A finding about a node with code invalid_model.
  template <class... Parts>
  void reject(const NodeDef& node, const Parts&... parts) const {
    add(ErrorCode::invalid_model, describe(node), " ", parts...);
  }
};

enum class GraphRole { main, algorithm, initialization, subgraph };

// Versions, imports, IR version.
void check_header(CheckContext& context);
void check_ir_version(std::int64_t version, Findings& findings);
void check_function_imports(const std::vector<FunctionDef>& functions, Findings& findings);
// Checks the device configurations of the model, and what one node says of them.
void check_device_configurations(CheckContext& context);
void check_devices(const NodeDef& node, const Site& site);
// Checks names, ranks, bytes and counts against Limits. False when graphs are nested too deeply for
// the other checks, which recurse.
bool check_limits(CheckContext& context);

// Checks a graph and everything in it. Defines its names in `scope`, which for an algorithm lies
// within the scope of the main graph.
void check_graph(const GraphDef& graph, GraphRole role, Scope& scope, const Site& site);
// Checks nodes in order and defines their outputs.
void check_nodes(const std::vector<NodeDef>& nodes, Scope& scope, const Site& site);
// Checks a declared type. `required`: it must be complete enough to feed a value of it.
void check_declared(const ValueDef& value, std::string_view what, bool required, const Site& site);
// Checks value_info of a graph whose names are in `scope`, or of a function.
void check_value_infos(const GraphDef& graph, GraphRole role, const Scope& scope, const Site& site);
void check_value_infos(const FunctionDef& function, const Site& site);
// Why a tensor of this dtype and shape contradicts the declared type; nullopt when it fits.
std::optional<std::string> contradiction(DType dtype, const Shape& shape, const TypeDef& declared);

// Checks operator, arity, attributes and the rules of particular operators.
void check_node(const NodeDef& node, const Scope& scope, const Site& site);
// Checks attribute names and references, without the operator's signature.
void check_attributes(const NodeDef& node, const Site& site);
void check_attributes(const NodeDef& node, const Signature& signature, const Site& site);
// Checks the numbers of inputs and outputs of the subgraphs of If, Loop, Scan and SequenceMap.
void check_subgraphs(const NodeDef& node, std::int64_t version, const Site& site);
void check_optimizer(const NodeDef& node, const Site& site);
void check_gradient(const NodeDef& node, const Scope& scope, const Site& site);

void check_functions(CheckContext& context);
void check_call(const NodeDef& node, std::size_t function, const Site& site);
// Checks recursion, call depth and sizes after inlining. Returns, per function, whether it is
// called.
std::vector<bool> check_calls(CheckContext& context);

// Checks all TrainingInfos. `main` holds the names of the main graph, `environment` belongs to the
// model's graphs.
void check_training(CheckContext& context, const Scope& main, Environment& environment);

}  // namespace ondine::graph
