#include "graph/training/prepare/value_trace.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/inline_call.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

// Functions that call others twice give 2^n scopes.
constexpr std::size_t most_scopes = 100'000;

std::size_t place_of(const std::vector<std::string>& list, std::string_view name) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), name) - list.begin());
}

std::vector<std::string> names_of(const std::vector<ValueDef>& values) {
  std::vector<std::string> result;
  for (const ValueDef& one : values) result.push_back(one.name);
  return result;
}

}  // namespace

bool runs_body(const NodeDef& node) noexcept {
  return node.domain.empty() && one_of(node.op, {"Loop", "Scan", "SequenceMap"});
}

BodyPlaces body_places(const NodeDef& node, const GraphDef& body) {
  const std::size_t inputs = body.inputs.size();
  if (node.op == "Loop") return {0, 1, 2, std::max<std::size_t>(inputs, 2) - 2};
  if (node.op != "Scan") return {};
  // Version 8 has an input for the lengths of sequences.
  const std::size_t shift = node.inputs.size() > inputs ? 1 : 0;
  const auto scanned = static_cast<std::size_t>(std::clamp<std::int64_t>(
      integer_attribute(node, "num_scan_inputs", 0), 0, static_cast<std::int64_t>(inputs)));
  return {shift, 0, 0, inputs - scanned};
}

ValueTrace::ValueTrace(const GraphDef& main, std::span<const FunctionDef> functions)
    : functions_(functions) {
  scopes_.emplace_back();
  add_graph(0, main);
}

void ValueTrace::add_graph(std::size_t scope, const GraphDef& graph) {
  Scope& to = scopes_[scope];
  for (const InitializerDef& one : graph.initializers) {
    to.constants.insert(one.name);
    to.initializers.emplace(one.name, &one);
  }
  for (const SparseTensorDef& one : graph.sparse_initializers) to.constants.insert(one.name);
  add_nodes(scope, graph.nodes);
}

void ValueTrace::add_nodes(std::size_t scope, std::span<const NodeDef> nodes) {
  Scope& to = scopes_[scope];
  to.producers = producers_of(nodes);
  for (const NodeDef& node : nodes) {
    const bool known =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
          return input.empty() || is_constant({scope, input});
        });
    if (known && subgraphs_of(node).empty()) {
      to.constants.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  to.constants.erase("");
}

const NodeDef* ValueTrace::producer(const ScopedValue& value) const {
  const Producers& producers = scopes_[value.scope].producers;
  const auto found = producers.find(value.name);
  return found == producers.end() ? nullptr : found->second;
}

const NodeDef* ValueTrace::standard_producer(const ScopedValue& value) const {
  const NodeDef* node = producer(value);
  return node != nullptr && node->domain.empty() ? node : nullptr;
}

bool ValueTrace::is_constant(const ScopedValue& value) const {
  std::size_t at = value.scope;
  while (true) {
    const Scope& scope = scopes_[at];
    if (scope.constants.contains(value.name)) return true;
    const bool is_own = scope.producers.contains(value.name) ||
                        place_of(scope.inputs, value.name) < scope.inputs.size();
    if (is_own || scope.holder == nullptr || scope.is_function) return false;
    at = scope.parent;
  }
}

const InitializerDef* ValueTrace::initializer(const ScopedValue& value) const {
  const auto& initializers = scopes_[value.scope].initializers;
  const auto found = initializers.find(value.name);
  return found == initializers.end() ? nullptr : found->second;
}

std::vector<ScopedValue> ValueTrace::aliases(const ScopedValue& value) {
  std::vector<ScopedValue> result;
  if (const NodeDef* node = producer(value)) {
    add_inside(value, *node, result);
  } else {
    add_outside(value, result);
  }
  return result;
}

// Adds the values that an output of a node is inside of its subgraphs or its function.
void ValueTrace::add_inside(const ScopedValue& value, const NodeDef& node,
                            std::vector<ScopedValue>& result) {
  const std::size_t place = place_of(node.outputs, value.name);
  const auto add_output = [&](std::size_t scope, std::size_t index) {
    const auto& outputs = scopes_[scope].outputs;
    if (index < outputs.size()) result.push_back({scope, outputs[index]});
  };
  if (const FunctionDef* function = called_function(functions_, node)) {
    add_output(scope_of(value.scope, node, *function), place);
    return;
  }
  const bool is_branch = is_standard(node, "If");
  if (!is_branch && !runs_body(node)) return;
  for (const auto& body : subgraphs_of(node)) {
    const BodyPlaces places = is_branch ? BodyPlaces() : body_places(node, *body);
    add_output(scope_of(value.scope, node, *body), place + places.output_shift);
    // A loop may run not at all.
    const std::size_t start = place + places.first_state + places.input_shift;
    if (place < places.states && start < node.inputs.size()) {
      result.push_back({value.scope, node.inputs[start]});
    }
  }
}

// Adds the values that a value is outside of its scope if no node of the scope makes it.
void ValueTrace::add_outside(const ScopedValue& value, std::vector<ScopedValue>& result) const {
  const Scope& scope = scopes_[value.scope];
  if (scope.holder == nullptr || scope.initializers.contains(value.name)) return;
  const std::size_t place = place_of(scope.inputs, value.name);
  if (place == scope.inputs.size()) {
    if (!scope.is_function) result.push_back({scope.parent, value.name});
    return;
  }
  const NodeDef& node = *scope.holder;
  BodyPlaces places;
  if (!scope.is_function) places = body_places(node, *subgraphs_of(node).front());
  const std::size_t given = place + places.input_shift;
  const bool is_counter = node.op == "Loop" && !scope.is_function && place < 2;
  if (!is_counter && given < node.inputs.size() && !node.inputs[given].empty()) {
    result.push_back({scope.parent, node.inputs[given]});
  }
  const std::size_t state = place - places.first_state;
  if (place >= places.first_state && state < places.states &&
      state + places.output_shift < scope.outputs.size()) {
    result.push_back({value.scope, scope.outputs[state + places.output_shift]});
  }
}

ValueTrace::Scope& ValueTrace::add_scope(std::size_t parent, const NodeDef& holder) {
  if (scopes_.size() >= most_scopes) {
    fail(ErrorCode::limit, "what makes the prediction lies in more than ", most_scopes,
         " subgraphs and calls of functions");
  }
  Scope& scope = scopes_.emplace_back();
  scope.parent = parent;
  scope.holder = &holder;
  return scope;
}

std::size_t ValueTrace::scope_of(std::size_t parent, const NodeDef& holder, const GraphDef& body) {
  const auto [known, fresh] = inner_.try_emplace({parent, &holder, &body}, scopes_.size());
  if (!fresh) return known->second;
  Scope& scope = add_scope(parent, holder);
  scope.inputs = names_of(body.inputs);
  scope.outputs = names_of(body.outputs);
  add_graph(known->second, body);
  return known->second;
}

std::size_t ValueTrace::scope_of(std::size_t parent, const NodeDef& holder,
                                 const FunctionDef& function) {
  const auto [known, fresh] = inner_.try_emplace({parent, &holder, &function}, scopes_.size());
  if (!fresh) return known->second;
  Scope& scope = add_scope(parent, holder);
  scope.is_function = true;
  scope.inputs = function.inputs;
  scope.outputs = function.outputs;
  for (std::size_t i = 0; i < function.inputs.size() && i < holder.inputs.size(); ++i) {
    if (is_constant({parent, holder.inputs[i]})) scope.constants.insert(function.inputs[i]);
  }
  add_nodes(known->second, function.nodes);
  return known->second;
}

}  // namespace ondine::graph
