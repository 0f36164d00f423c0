#include "graph/contract/subgraph_builder.h"

#include <algorithm>
#include <utility>

namespace ondine::graph {

SubgraphBuilder::SubgraphBuilder(Builder& outer) : outer_(&outer), inner_(outer.inside(graph_)) {
  graph_.symbols = outer.graph().symbols;
}

SubgraphBuilder::SubgraphBuilder(Builder& outer, const Subgraph& subgraph)
    : outer_(&outer),
      graph_(*subgraph.graph),
      inner_(outer.inside(graph_)),
      captures_(subgraph.captures) {
  const auto formals = static_cast<std::ptrdiff_t>(subgraph.formal_inputs());
  formals_.assign(graph_.inputs.begin(), graph_.inputs.begin() + formals);
  captured_.assign(graph_.inputs.begin() + formals, graph_.inputs.end());
}

Val SubgraphBuilder::add_formal(const std::string& hint, Type type) {
  formals_.push_back(graph_.add_temporary(hint, std::move(type)));
  return inner_.value(formals_.back());
}

ValueId SubgraphBuilder::release_formal(std::size_t i) {
  const ValueId id = formals_[i];
  formals_.erase(formals_.begin() + static_cast<std::ptrdiff_t>(i));
  return id;
}

std::vector<Node> SubgraphBuilder::take_nodes() { return std::exchange(graph_.nodes, {}); }

Val SubgraphBuilder::capture(Val outer) {
  const auto found = std::find(captures_.begin(), captures_.end(), outer.id());
  if (found != captures_.end()) {
    return inner_.value(captured_[static_cast<std::size_t>(found - captures_.begin())]);
  }
  const GraphValue& value = outer_->graph()[outer.id()];
  const ValueId id = graph_.add_temporary(value.name, value.type);
  graph_[id].constant = value.constant;
  graph_[id].known_dims = value.known_dims;
  captures_.push_back(outer.id());
  captured_.push_back(id);
  return inner_.value(id);
}

std::vector<Val> SubgraphBuilder::outputs() {
  std::vector<Val> values;
  for (const ValueId id : graph_.outputs) values.push_back(inner_.value(id));
  return values;
}

Subgraph SubgraphBuilder::finish(const std::string& attribute, std::span<const Val> outputs) {
  graph_.inputs = formals_;
  graph_.inputs.insert(graph_.inputs.end(), captured_.begin(), captured_.end());
  graph_.outputs.clear();
  for (const Val output : outputs) graph_.outputs.push_back(output.id());
  return {attribute, std::make_shared<const Graph>(graph_), captures_};
}

std::vector<Val> control_node(Builder& builder, std::string_view op, std::span<const Val> inputs,
                              std::vector<Subgraph> subgraphs, std::size_t outputs,
                              Attributes attributes) {
  Node node;
  node.op = builder.catalogue().find("", op);
  if (node.op == nullptr) fail(ErrorCode::internal, "operator ", op, " is not in the catalogue");
  node.version = Builder::latest_version;
  node.attributes = std::move(attributes);
  node.subgraphs = std::move(subgraphs);
  for (const Val input : inputs) node.inputs.push_back(input.id());
  std::vector<Val> results;
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(builder.graph().add_temporary(std::string(op)));
    results.push_back(builder.value(node.outputs.back()));
  }
  builder.append(std::move(node));
  return results;
}

}  // namespace ondine::graph
