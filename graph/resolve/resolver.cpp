#include "graph/resolve/resolver.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "graph/contract/added_versions.h"
#include "graph/contract/infer_node.h"
#include "graph/contract/op_def.h"
#include "graph/contract/signature.h"
#include "graph/evaluate/evaluate_node.h"
#include "graph/ir/declared_type.h"
#include "graph/print/dim_names.h"

namespace ondine::graph {
namespace {

// FNV-1a: the same in every build.
std::uint32_t stream_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

// As describe() names the node once it is resolved.
std::string label(const NameScope& scope, const NodeDef& def) {
  const auto named = std::find_if(def.outputs.begin(), def.outputs.end(),
                                  [](const std::string& output) { return !output.empty(); });
  const std::string& name = !def.name.empty() || named == def.outputs.end() ? def.name : *named;
  const auto version = scope.opsets().version(canonical_domain(def.domain));
  return cat("node ", quoted(name), " (", def.op, version ? cat("-", *version) : "", ")");
}

Error with_names(const Error& error, const Symbols& symbols) {
  Error named(error.code(), with_dim_names(error.message(), symbols));
  for (const std::string& frame : error.context()) named.add_context(frame);
  return named;
}

// The node's attributes with the values that references stand for. An attribute that refers to one
// that the function's caller left out and that has no default is left out too.
Attributes given_attributes(const NameScope& scope, const NodeDef& def) {
  Attributes given;
  for (const Attribute& attribute : def.attributes) {
    if (attribute.ref->empty()) {
      given.push_back(attribute);
      continue;
    }
    const Attribute* source =
        scope.call() != nullptr ? find(scope.call()->attributes, *attribute.ref) : nullptr;
    if (source == nullptr) continue;
    given.push_back(*source);
    given.back().name = attribute.name;
  }
  return given;
}

// Number of values of inputs, initializers and nodes.
std::size_t value_count(const GraphDef& graph) {
  std::size_t count = graph.inputs.size() + graph.initializers.size();
  for (const NodeDef& node : graph.nodes) count += node.outputs.size();
  return count;
}

}  // namespace

Graph Resolver::resolve(GraphParts parts) {
  Graph graph;
  graph.name = parts.front()->name;
  graph.symbols = context_->symbols;
  NameScope scope(graph, nullptr, nullptr);
  scope.set_opsets(&opsets_);
  std::size_t nodes = 0;
  std::size_t values = 0;
  for (const GraphDef* part : parts) {
    nodes += part->nodes.size();
    values += value_count(*part);
  }
  graph.nodes.reserve(nodes);
  graph.values.reserve(values);
  scope.reserve(values);
  declare_types(scope, parts);
  NameSet inputs;
  for (const GraphDef* part : parts) {
    for (const ValueDef& input : part->inputs) {
      declare_input(scope, input);
      inputs.insert(input.name);
    }
  }
  add_initializers(scope, parts, inputs);
  for (const GraphDef* part : parts) {
    // Missing outputs of a node that failed are no defects of their own.
    if (!add_nodes(scope, part->nodes)) return graph;
  }
  for (const GraphDef* part : parts) set_outputs(scope, *part);
  return graph;
}

void Resolver::report(const Error& error) {
  const Error named = with_names(error, *context_->symbols);
  if (!context_->report) throw Error(named);
  context_->report(named);
}

void Resolver::declare_types(NameScope& scope, GraphParts parts) {
  for (const auto list : {&GraphDef::value_infos, &GraphDef::outputs}) {
    for (const GraphDef* part : parts) {
      for (const ValueDef& value : part->*list) {
        if (value.type.kind == TypeKind::unknown) continue;
        *scope.declared.add(value.name).first = to_type(value.type, context_->symbols.get());
      }
    }
  }
}

void Resolver::declare_input(NameScope& scope, const ValueDef& input) {
  Graph& graph = scope.graph();
  const Type type = to_type(input.type, context_->symbols.get());
  const ValueId id = graph.add_temporary(input.name, type);
  graph[id].declared = type;
  graph.inputs.push_back(id);
  scope.define(input.name, id);
}

void Resolver::add_initializers(NameScope& scope, GraphParts parts, const NameSet& inputs) {
  for (const GraphDef* part : parts) {
    for (const InitializerDef& one : part->initializers) {
      add_initializer(scope, inputs, one.name, one.value);
    }
  }
  for (const GraphDef* part : parts) {
    for (const SparseTensorDef& one : part->sparse_initializers) {
      add_initializer(scope, inputs, one.name, densify(one));
    }
  }
}

void Resolver::add_initializer(NameScope& scope, const NameSet& inputs, const std::string& name,
                               const Tensor& value) {
  Graph& graph = scope.graph();
  const Type type = Type::tensor(value.dtype(), value.shape());
  if (inputs.contains(name)) {
    // The default of an input must have the input's type.
    const ValueId id = scope.get(name);
    if (!compatible(graph[id].type, type)) {
      fail(ErrorCode::invalid_model, "input ", quoted(name), " is a ", to_string(graph[id].type),
           " but its initializer is a ", to_string(type));
    }
    return;
  }
  const ValueId id = graph.add_temporary(scope.prefix + name, type);
  scope.define(name, id);
  if (depth_ == 0 && context_->variables != nullptr && context_->variables->contains(name)) {
    graph.inputs.push_back(id);
  } else {
    graph[id].constant = value;
  }
  declare(scope, name, id);
  set_type(graph, id, type);
  compare(scope, name, id);
}

bool Resolver::add_nodes(NameScope& scope, const std::vector<NodeDef>& nodes) {
  for (const NodeDef& def : nodes) {
    try {
      with_context([&] { add_node(scope, def); }, [&] { return label(scope, def); });
    } catch (const Error& error) {
      // Errors in a subgraph are reported for the outer node, which cannot be typed without it.
      if (depth_ > 0) throw;
      if (error.code() == ErrorCode::limit || error.code() == ErrorCode::internal ||
          error.code() == ErrorCode::cancelled) {
        throw;
      }
      report(error);
      return false;
    }
  }
  return true;
}

const FunctionDef* Resolver::find_function(const NodeDef& def) const {
  for (const FunctionDef& function : context_->model->functions) {
    if (function.name == def.op && function.overload == *def.overload &&
        canonical_domain(function.domain) == canonical_domain(def.domain)) {
      return &function;
    }
  }
  return nullptr;
}

void Resolver::add_node(NameScope& scope, const NodeDef& def) {
  if (const FunctionDef* function = find_function(def)) return inline_call(scope, def, *function);
  check_stop();
  if (++nodes_ > context_->limits->nodes) {
    fail(ErrorCode::limit, "the graph has more than the limit of ", context_->limits->nodes,
         " nodes");
  }
  Graph& graph = scope.graph();
  const auto domain = canonical_domain(def.domain);
  Node node;
  node.name = def.name;
  node.op = context_->catalogue->find(domain, def.op);
  const auto version = scope.opsets().version(domain);
  if (!version) fail(ErrorCode::invalid_model, "domain ", quoted(def.domain), " is not imported");
  if (node.op == nullptr) {
    fail(ErrorCode::unsupported, "operator ", quoted(def.op), " of domain ", quoted(def.domain),
         " is not available");
  }
  node.version = defining_version(domain, def.op, *version);
  for (const std::string& input : def.inputs) {
    node.inputs.push_back(input.empty() ? no_value : scope.get_argument(input));
  }
  std::vector<std::shared_ptr<const GraphDef>> subgraphs;
  for (Attribute& resolved : given_attributes(scope, def)) {
    if (const auto* subgraph = std::get_if<std::shared_ptr<const GraphDef>>(&resolved.data)) {
      node.subgraphs.push_back({resolved.name, nullptr, {}});
      subgraphs.push_back(*subgraph);
    } else {
      node.attributes.push_back(std::move(resolved));
    }
  }
  resolve_references(scope, node);
  bind_outputs(scope, def, node);
  infer_node(node, graph, [&](std::size_t index, std::span<const Type> formals) {
    return resolve_subgraph(scope, node, index, *subgraphs[index], formals);
  });
  for (const Subgraph& subgraph : node.subgraphs) {
    if (!subgraph.graph)
      fail(ErrorCode::internal, "graph ", subgraph.attribute, " was not resolved");
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) compare(scope, def.outputs[i], node.outputs[i]);
  }
  if (context_->check_types) context_->check_types(node, graph);
  graph.nodes.push_back(std::move(node));
  fold_if_constant(graph);
}

void Resolver::bind_outputs(NameScope& scope, const NodeDef& def, Node& node) {
  Graph& graph = scope.graph();
  for (const std::string& output : def.outputs) {
    if (output.empty()) {
      // Kernels always write their first output; what is expanded has none.
      const bool needs = node.outputs.empty() && node.op->bind != nullptr;
      node.outputs.push_back(needs ? graph.add_temporary("") : no_value);
      continue;
    }
    const ValueId id = graph.add_temporary(scope.prefix + output);
    declare(scope, output, id);
    node.outputs.push_back(id);
    scope.define(output, id);
    if (node.stream == 0) node.stream = stream_of(scope.prefix + output);
  }
}

// Sets what inference is compared with.
void Resolver::declare(NameScope& scope, const std::string& name, ValueId id) {
  const Type* declared = scope.declared.find(name);
  if (declared == nullptr) return;
  scope.graph()[id].declared = context_->warn ? without_dims(*declared) : *declared;
}

// Compares shapes where inference decides on them.
void Resolver::compare(NameScope& scope, const std::string& name, ValueId id) {
  if (!context_->warn) return;
  const Type* declared = scope.declared.find(name);
  if (declared == nullptr) return;
  GraphValue& value = scope.graph()[id];
  const Type& said = *declared;
  if (!compatible(value.type, said)) {
    const Error error(ErrorCode::mismatch, cat("value ", quoted(value.name), " is declared as ",
                                               to_string(said), " but is ", to_string(value.type)));
    context_->warn(with_names(error, *context_->symbols));
    return;
  }
  value.declared = said;
  if (said.is_tensor() && said.ranked() && !value.type.ranked()) {
    value.type.dims.emplace(said.rank());
  }
}

std::vector<Type> Resolver::resolve_subgraph(NameScope& scope, Node& node, std::size_t index,
                                             const GraphDef& def, std::span<const Type> formals) {
  struct Level {
    int& depth;
    ~Level() { --depth; }
  } const level{depth_};
  if (++depth_ > context_->limits->subgraph_depth) {
    fail(ErrorCode::limit, "graphs are nested deeper than the limit of ",
         context_->limits->subgraph_depth);
  }
  auto graph = std::make_shared<Graph>();
  graph->name = def.name;
  graph->symbols = context_->symbols;
  NameScope inner(*graph, &scope, scope.call());
  inner.set_opsets(&scope.opsets());
  const GraphDef* const part = &def;
  declare_types(inner, {&part, 1});
  if (def.inputs.size() < formals.size()) {
    fail(ErrorCode::invalid_model, "graph ", quoted(def.name), " has ", def.inputs.size(),
         " inputs, the operator passes ", formals.size());
  }
  NameSet inputs;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    const ValueDef& input = def.inputs[i];
    if (i >= formals.size()) {
      // Up to IR version 3 subgraphs list their initializers as inputs, after the formal ones.
      const bool initialized =
          std::any_of(def.initializers.begin(), def.initializers.end(),
                      [&](const InitializerDef& init) { return init.name == input.name; });
      if (initialized) continue;
      fail(ErrorCode::invalid_model, "graph ", quoted(def.name), " has ", def.inputs.size(),
           " inputs, the operator passes ", formals.size());
    }
    const ValueId id = graph->add_temporary(input.name);
    (*graph)[id].declared = to_type(input.type, context_->symbols.get());
    set_type(*graph, id, formals[i]);
    graph->inputs.push_back(id);
    inner.define(input.name, id);
    inputs.insert(input.name);
  }
  add_initializers(inner, {&part, 1}, inputs);
  add_nodes(inner, def.nodes);
  set_outputs(inner, def);
  std::vector<Type> types;
  for (const ValueId id : graph->outputs) types.push_back((*graph)[id].type);
  node.subgraphs[index].captures = inner.captures();
  node.subgraphs[index].graph = std::move(graph);
  return types;
}

void Resolver::set_outputs(NameScope& scope, const GraphDef& def) {
  for (const ValueDef& output : def.outputs) {
    try {
      scope.graph().outputs.push_back(scope.get(output.name));
    } catch (const Error& error) {
      if (depth_ > 0) throw;
      report(error);
    }
  }
}

void Resolver::inline_call(NameScope& scope, const NodeDef& def, const FunctionDef& function) {
  CallSite call;
  call.function = &function;
  call.opsets = Opsets(function.opsets);
  call.depth = scope.call() != nullptr ? scope.call()->depth + 1 : 1;
  if (call.depth > context_->limits->call_depth) {
    fail(ErrorCode::limit, "function calls are nested deeper than the limit of ",
         context_->limits->call_depth);
  }
  call.attributes = given_attributes(scope, def);
  for (const Attribute& attribute : function.defaults) {
    if (ondine::graph::find(call.attributes, attribute.name) == nullptr) {
      call.attributes.push_back(attribute);
    }
  }
  if (def.inputs.size() > function.inputs.size() || def.outputs.size() > function.outputs.size()) {
    fail(ErrorCode::invalid_model, "function ", quoted(function.name), " has ",
         function.inputs.size(), " inputs and ", function.outputs.size(), " outputs, the call ",
         def.inputs.size(), " and ", def.outputs.size());
  }
  NameScope inner(scope.graph(), nullptr, &call);
  inner.set_opsets(&call.opsets);
  inner.prefix = scope.prefix + (def.name.empty() ? def.outputs[0] : def.name) + "/";
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const bool given = i < def.inputs.size() && !def.inputs[i].empty();
    inner.define(function.inputs[i], given ? scope.get_argument(def.inputs[i]) : no_value);
  }
  add_nodes(inner, function.nodes);
  for (std::size_t i = 0; i < def.outputs.size(); ++i) {
    if (def.outputs[i].empty()) continue;
    scope.define(def.outputs[i], inner.get(function.outputs[i]));
  }
}

// Evaluates nodes without inputs, such as Constant, right away.
void Resolver::fold_if_constant(Graph& graph) {
  const Node& node = graph.nodes.back();
  const bool fixed = node.inputs.empty() && node.subgraphs.empty() && !node.op->traits.random &&
                     node.op->bind != nullptr && node.outputs.size() == 1;
  if (!fixed || !graph[node.outputs[0]].type.is_tensor()) return;
  const auto shape = graph[node.outputs[0]].type.shape();
  if (!shape) return;
  graph[node.outputs[0]].constant = evaluate_node(node, graph, *context_->limits)[0];
  graph.nodes.pop_back();
}

}  // namespace ondine::graph
