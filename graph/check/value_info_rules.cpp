// value_info: distinct names, and types that agree with what the values are declared as elsewhere.
#include <map>

#include "graph/check/repeated_entries.h"
#include "graph/check/rules.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

using Types = std::unordered_map<std::string_view, const TypeDef*>;

// Whether no value has both element types.
bool contradict(const TypeDef& a, const TypeDef& b) {
  if (a.kind == TypeKind::unknown || b.kind == TypeKind::unknown) return false;
  if (a.kind != b.kind) return true;
  const bool typed = a.dtype != DType::undefined && b.dtype != DType::undefined;
  if (typed && a.dtype != b.dtype) return true;
  return a.element && b.element && contradict(*a.element, *b.element);
}

// Whether no value has both shapes; the element types do not contradict each other.
bool shapes_contradict(const TypeDef& a, const TypeDef& b) {
  if (a.element && b.element && shapes_contradict(*a.element, *b.element)) return true;
  if (!has_tensor_type(a) || !a.dims || !b.dims) return false;
  if (a.dims->size() != b.dims->size()) return true;
  for (std::size_t i = 0; i < a.dims->size(); ++i) {
    const auto* first = std::get_if<std::int64_t>(&(*a.dims)[i]);
    const auto* second = std::get_if<std::int64_t>(&(*b.dims)[i]);
    if (first != nullptr && second != nullptr && *first != *second) return true;
  }
  return false;
}

void check_against_ports(const GraphDef& graph, const ValueDef& info, const Types& ports,
                         const Site& site) {
  const auto port = ports.find(info.name);
  if (port == ports.end()) return;
  if (contradict(info.type, *port->second)) {
    site.add(ErrorCode::invalid_model, "value ", quoted(info.name),
             " is declared with another type among the inputs or outputs of graph ",
             quoted(graph.name));
  } else if (shapes_contradict(info.type, *port->second)) {
    site.warn("value ", quoted(info.name),
              " is declared with another type among the inputs or outputs of graph ",
              quoted(graph.name));
  }
}

void check_against_initializer(const ValueDef& info, const Scope& scope, const Site& site) {
  const auto* entry = scope.find_here(info.name);
  if (entry == nullptr || !entry->has_value()) return;
  const bool dense = entry->initializer != nullptr;
  const DType dtype = dense ? entry->initializer->dtype() : entry->sparse->values.dtype();
  const Shape& shape = dense ? entry->initializer->shape() : entry->sparse->dims;
  const auto reason = contradiction(dtype, shape, info.type);
  if (!reason) return;
  TypeDef unshaped = info.type;
  unshaped.dims.reset();
  constexpr std::string_view message = " does not fit the initializer of its name: ";
  if (contradiction(dtype, shape, unshaped)) {
    site.add(ErrorCode::invalid_model, "value ", quoted(info.name), message, *reason);
  } else {
    site.warn("value ", quoted(info.name), message, *reason);
  }
}

void check_distinct(const std::vector<ValueDef>& infos, const std::vector<ValueDef>& before,
                    const Site& site) {
  std::map<std::string_view, const TypeDef*> seen;
  for (const auto& info : before) seen.emplace(info.name, &info.type);
  for (const auto& info : infos) {
    const auto [first, fresh] = seen.emplace(info.name, &info.type);
    if (fresh) continue;
    if (same_type(*first->second, info.type)) {
      site.warn("value ", quoted(info.name), " is in value_info twice");
    } else {
      site.add(ErrorCode::invalid_model, "value ", quoted(info.name), " is in value_info twice");
    }
  }
}

}  // namespace

void check_value_infos(const GraphDef& graph, GraphRole role, const Scope& scope,
                       const Site& site) {
  static const std::vector<ValueDef> none;
  const GraphDef& main = site.context.model.graph;
  check_distinct(graph.value_infos, role == GraphRole::algorithm ? main.value_infos : none, site);
  Types ports;
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    for (const auto& port : *list) ports.emplace(port.name, &port.type);
  }
  for (const auto& info : graph.value_infos) {
    check_declared(info, "value", false, site);
    check_against_ports(graph, info, ports, site);
    check_against_initializer(info, scope, site);
  }
}

void check_value_infos(const FunctionDef& function, const Site& site) {
  if (function.value_infos.empty()) return;
  check_distinct(function.value_infos, {}, site);
  std::set<std::string_view> names(function.inputs.begin(), function.inputs.end());
  for_each_node(function.nodes, [&](const NodeDef& node) {
    names.insert(node.inputs.begin(), node.inputs.end());
    names.insert(node.outputs.begin(), node.outputs.end());
  });
  for (const auto& info : function.value_infos) {
    check_declared(info, "value", false, site);
    if (names.contains(info.name)) continue;
    site.add(ErrorCode::invalid_model, "value_info of ", quoted(info.name),
             ", which is no value of the function");
  }
}

}  // namespace ondine::graph
