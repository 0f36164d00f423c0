#include "graph/check/verify_graph.h"

#include "core/message.h"
#include "graph/contract/op_def.h"

namespace ondine::graph {
namespace {

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph)
      : graph_(graph), defined_(graph.values.size()), produced_(graph.values.size()) {}

  void run() {
    for (const ValueId input : graph_.inputs) define(input, "as an input");
    define_constants();
    for (const Node& node : graph_.nodes) {
      with_context([&] { verify(node); }, [&] { return name_of(node); });
    }
    for (const ValueId output : graph_.outputs) read(output, "graph output");
  }

 private:
  template <class... Parts>
  [[noreturn]] static void broken(const Parts&... parts) {
    fail(ErrorCode::internal, parts...);
  }

  // describe() is not safe here: ids may be out of range.
  static std::string name_of(const Node& node) {
    return cat("node ", quoted(node.name), " (", node.op ? node.op->name : "no operator", ")");
  }

  std::size_t index(ValueId id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= graph_.values.size()) {
      broken("value id ", id, " is out of range, the graph has ", graph_.values.size(), " values");
    }
    return static_cast<std::size_t>(id);
  }

  void define(ValueId id, std::string_view how) {
    const std::size_t i = index(id);
    if (produced_[i]) {
      broken("value ", quoted(graph_[id].name), " is defined twice, the second time ", how);
    }
    produced_[i] = true;
    defined_[i] = true;
    if (graph_[id].type.kind == TypeKind::unknown) {
      broken("value ", quoted(graph_[id].name), " has no type");
    }
  }

  // Constants are defined from the start, except those that a node computes.
  void define_constants() {
    std::vector<bool> of_node(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      for (const ValueId output : node.outputs) {
        if (output != no_value) of_node[index(output)] = true;
      }
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].constant->defined() && !of_node[i]) defined_[i] = true;
    }
  }

  void read(ValueId id, std::string_view how) const {
    if (!defined_[index(id)]) {
      broken("value ", quoted(graph_[id].name), " is read as ", how, " before it is defined");
    }
  }

  void verify(const Node& node) {
    if (node.op == nullptr) broken("the node has no operator");
    for (const ValueId input : node.inputs) {
      if (input != no_value) read(input, "input");
    }
    for (const ValueId reference : node.references) read(reference, "reference");
    for (const Subgraph& subgraph : node.subgraphs) verify(subgraph);
    for (const ValueId output : node.outputs) {
      if (output != no_value) define(output, "as an output");
    }
  }

  void verify(const Subgraph& subgraph) const {
    if (subgraph.graph == nullptr) broken("subgraph ", quoted(subgraph.attribute), " has no graph");
    if (subgraph.captures.size() > subgraph.graph->inputs.size()) {
      broken("subgraph ", quoted(subgraph.attribute), " has ", subgraph.captures.size(),
             " captures and ", subgraph.graph->inputs.size(), " inputs");
    }
    for (const ValueId captured : subgraph.captures) read(captured, "capture");
    with_context([&] { verify_graph(*subgraph.graph); },
                 [&] { return cat("subgraph ", quoted(subgraph.attribute)); });
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::vector<bool> produced_;  // an input, or an output of a node already visited
};

}  // namespace

void verify_graph(const Graph& graph) { GraphVerifier(graph).run(); }

}  // namespace ondine::graph
