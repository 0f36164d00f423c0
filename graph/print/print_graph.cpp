#include <span>

#include "core/message.h"
#include "graph/contract/op_def.h"
#include "graph/print/format.h"
#include "graph/print/print.h"

namespace ondine::graph {
namespace {

class GraphPrinter {
 public:
  void run(const Graph& graph, const std::string& title, int level) {
    lines_.add(level, title);
    std::vector<bool> read(graph.values.size());
    std::vector<bool> produced(graph.values.size());
    const auto flag = [](std::vector<bool>& flags, std::span<const ValueId> ids) {
      for (const ValueId id : ids) {
        if (id != no_value) flags[static_cast<std::size_t>(id)] = true;
      }
    };
    for (const Node& node : graph.nodes) {
      flag(read, node.all_inputs());
      flag(read, node.references);
      flag(produced, node.outputs);
    }
    flag(read, graph.outputs);
    for (const ValueId input : graph.inputs) {
      lines_.add(level + 1, "input " + typed(graph, input));
    }
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const GraphValue& value = graph.values[i];
      if (!value.constant->defined() || !read[i] || produced[i]) continue;
      lines_.add(level + 1,
                 cat("constant ", printed_name(value.name), ": ", printed_tensor(value.constant)));
    }
    for (const Node& node : graph.nodes) this->node(graph, node, level + 1);
    for (const ValueId output : graph.outputs) {
      lines_.add(level + 1, "output " + typed(graph, output));
    }
  }

  std::string take() { return lines_.take(); }

 private:
  static std::string name(const Graph& graph, ValueId id) {
    return id == no_value ? "_" : printed_name(graph[id].name);
  }

  static std::string typed(const Graph& graph, ValueId id) {
    if (id == no_value) return "_";
    return name(graph, id) + ": " + printed_type(graph[id].type, graph.symbols.get());
  }

  void node(const Graph& graph, const Node& node, int level) {
    const auto names = [&](std::span<const ValueId> ids) {
      return printed_list(ids, [&](ValueId id) { return name(graph, id); });
    };
    std::string text =
        printed_list(node.outputs, [&](ValueId id) { return typed(graph, id); }) + " = ";
    if (!node.op->domain.empty()) text += printed_name(node.op->domain) + ".";
    text += cat(node.op->name, "-", node.version, "(", names(node.inputs), ")");
    if (!node.attributes.empty()) {
      text += " {" + printed_list(node.attributes, printed_attribute) + "}";
    }
    if (!node.references.empty()) text += " of (" + names(node.references) + ")";
    if (!node.name.empty()) text += "  # " + printed_name(node.name);
    lines_.add(level, text);
    for (const Subgraph& subgraph : node.subgraphs) {
      std::string title = printed_name(subgraph.attribute);
      if (!subgraph.captures.empty()) title += " with (" + names(subgraph.captures) + ")";
      run(*subgraph.graph, title, level + 1);
    }
  }

  Lines lines_;
};

}  // namespace

std::string print(const Graph& graph) {
  GraphPrinter printer;
  printer.run(graph, "graph " + printed_name(graph.name), 0);
  return printer.take();
}

}  // namespace ondine::graph
