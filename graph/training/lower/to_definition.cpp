#include "graph/training/lower/to_definition.h"

#include <algorithm>
#include <set>

#include "core/message.h"
#include "graph/contract/op_def.h"

namespace ondine::graph {
namespace {

// Names of the values of a graph, by id; empty where there is none yet.
using Names = std::vector<std::string>;

class Writer {
 public:
  GraphDef top(const Graph& graph, const GraphPorts& ports) {
    Names names(graph.values.size());
    for (const auto& [name, id] : ports.inputs) used_.insert(name);
    for (const auto& [name, id] : ports.outputs) used_.insert(name);
    GraphDef def;
    def.name = graph.name.empty() ? "graph" : graph.name;
    for (const auto& [name, id] : ports.inputs) {
      names[index(id)] = name;
      def.inputs.push_back(value_of(graph, id, name));
    }
    for (const auto& [name, id] : ports.outputs) {
      // An output that is an input, a constant or another output already is a copy.
      if (names[index(id)].empty() && !graph[id].constant->defined()) names[index(id)] = name;
    }
    def.initializers = ports.defaults;
    add_body(def, graph, names);
    for (const auto& [name, id] : ports.outputs) {
      if (names[index(id)] != name) def.nodes.push_back(identity(names[index(id)], name));
      def.outputs.push_back(value_of(graph, id, name));
    }
    return def;
  }

 private:
  static ValueDef value_of(const Graph& graph, ValueId id, const std::string& name) {
    ValueDef def;
    def.name = name;
    def.type = to_definition(graph[id].type, *graph.symbols);
    return def;
  }

  static NodeDef identity(const std::string& from, const std::string& to) {
    NodeDef node;
    node.op = "Identity";
    node.inputs = {from};
    node.outputs = {to};
    return node;
  }

  std::string fresh(const std::string& hint) {
    const std::string base = hint.empty() ? "value" : hint;
    std::string name = base;
    for (std::size_t i = 1; !used_.insert(name).second; ++i) name = cat(base, '_', i);
    return name;
  }

  // Names all values that are read or written, then adds constants and nodes.
  void add_body(GraphDef& def, const Graph& graph, Names& names) {
    std::vector<ValueId> constants;
    const auto name = [&](ValueId id) {
      if (id == no_value || !names[index(id)].empty()) return;
      names[index(id)] = fresh(graph[id].name);
      if (graph[id].constant->defined()) constants.push_back(id);
    };
    for (const Node& node : graph.nodes) {
      std::for_each(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
        if (id != no_value && names[index(id)].empty()) names[index(id)] = fresh(graph[id].name);
      });
    }
    for (const Node& node : graph.nodes) {
      const auto inputs = node.all_inputs();
      std::for_each(inputs.begin(), inputs.end(), name);
    }
    std::for_each(graph.outputs.begin(), graph.outputs.end(), name);
    for (const ValueId id : constants) {
      InitializerDef& one = def.initializers.emplace_back();
      one.name = names[index(id)];
      one.value = graph[id].constant;
    }
    for (const Node& node : graph.nodes) def.nodes.push_back(node_of(node, names));
  }

  NodeDef node_of(const Node& node, const Names& names) {
    NodeDef def;
    def.op = std::string(node.op->name);
    def.domain = std::string(node.op->domain);
    def.name = node.name;
    const auto add = [&](const std::vector<ValueId>& ids, std::vector<std::string>& to) {
      for (const ValueId id : ids) to.push_back(id == no_value ? "" : names[index(id)]);
      while (!to.empty() && to.back().empty()) to.pop_back();
    };
    add(node.inputs, def.inputs);
    add(node.outputs, def.outputs);
    def.attributes = node.attributes;
    for (const Subgraph& subgraph : node.subgraphs) {
      def.attributes.emplace_back(subgraph.attribute, std::make_shared<const GraphDef>(inner(
                                                          subgraph, names, describe_outputs(def))));
    }
    return def;
  }

  static std::string describe_outputs(const NodeDef& def) {
    return def.outputs.empty() ? def.op : def.outputs[0];
  }

  GraphDef inner(const Subgraph& subgraph, const Names& outer, const std::string& owner) {
    const Graph& graph = *subgraph.graph;
    Names names(graph.values.size());
    GraphDef def;
    def.name = graph.name.empty() ? cat(owner, '.', subgraph.attribute) : graph.name;
    const std::size_t formals = subgraph.formal_inputs();
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ValueId id = graph.inputs[i];
      if (i >= formals) {
        names[index(id)] = outer[index(subgraph.captures[i - formals])];
        continue;
      }
      names[index(id)] = fresh(graph[id].name);
      def.inputs.push_back(value_of(graph, id, names[index(id)]));
    }
    add_body(def, graph, names);
    std::vector<bool> taken(graph.values.size());
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != no_value) taken[index(id)] = true;
      }
    }
    for (const ValueId id : graph.outputs) {
      std::string name = names[index(id)];
      // Outputs of a body are computed in it, each once.
      if (!taken[index(id)]) {
        name = fresh(name);
        def.nodes.push_back(identity(names[index(id)], name));
      }
      taken[index(id)] = false;
      def.outputs.push_back(value_of(graph, id, name));
    }
    return def;
  }

  std::set<std::string> used_;
};

}  // namespace

TypeDef to_definition(const Type& type, const Symbols& symbols) {
  TypeDef def;
  def.kind = type.kind;
  def.dtype = type.dtype;
  if (type.element) {
    def.element = std::make_shared<const TypeDef>(to_definition(*type.element, symbols));
  }
  if (!type.dims) return def;
  def.dims.emplace();
  for (const Dim dim : *type.dims) {
    if (dim.known()) {
      def.dims->emplace_back(dim.size());
    } else if (dim.is_symbolic() && dim.symbol() < symbols.names.size()) {
      def.dims->emplace_back(DimName(symbols.names[dim.symbol()]));
    } else {
      def.dims->emplace_back();
    }
  }
  return def;
}

GraphDef to_definition(const Graph& graph, const GraphPorts& ports) {
  return Writer().top(graph, ports);
}

}  // namespace ondine::graph
