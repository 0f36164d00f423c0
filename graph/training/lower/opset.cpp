#include "graph/training/lower/opset.h"

#include <algorithm>
#include <array>

#include "core/message.h"
#include "graph/contract/infer_node.h"
#include "graph/contract/signature.h"
#include "graph/training/lower/standard.h"

namespace ondine::graph {
namespace {

// Versions in which an operator changed its meaning although its inputs and attributes fit.
struct Change {
  std::string_view op;
  std::int64_t version;
};
constexpr std::array changes{Change{"BatchNormalization", 14},
                             Change{"DFT", 20},
                             Change{"GridSample", 20},
                             Change{"GroupNormalization", 21},
                             Change{"Hardmax", 13},
                             Change{"LogSoftmax", 13},
                             Change{"PRelu", 7},
                             Change{"Resize", 11},
                             Change{"RoiAlign", 16},
                             Change{"Scan", 9},
                             Change{"Softmax", 13}};

bool has_required(const Node& node, const Signature& signature) {
  const auto inputs = signature.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool given = i < node.inputs.size() && node.inputs[i] != no_value;
    if (inputs[i].option == Option::single && !given) return false;
  }
  const auto attributes = signature.attributes();
  return std::all_of(attributes.begin(), attributes.end(), [&](const AttributeSpec& spec) {
    return !spec.required || spec.kind == AttributeKind::graph ||
           find(node.attributes, spec.name) != nullptr;
  });
}

bool types_fit(const Node& node, const Graph& graph, const Signature& signature) {
  const auto fit = [&](const std::vector<ValueId>& ids, std::span<const Parameter> parameters) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == no_value) continue;
      const Parameter& parameter = parameters[std::min(i, parameters.size() - 1)];
      if (!signature.constraints()[parameter.constraint].types().contains(graph[ids[i]].type)) {
        return false;
      }
    }
    return true;
  };
  return fit(node.inputs, signature.inputs()) && fit(node.outputs, signature.outputs());
}

class Converter {
 public:
  Converter(std::int64_t opset, const Catalogue& catalogue)
      : opset_(opset), catalogue_(&catalogue) {}

  Graph run(const Graph& graph) const {
    Graph copy = graph;
    copy.nodes.clear();
    Builder builder(copy, *catalogue_);
    for (Node node : graph.nodes) {
      for (Subgraph& subgraph : node.subgraphs) {
        subgraph.graph = std::make_shared<const Graph>(run(*subgraph.graph));
      }
      with_context([&] { add(builder, node); }, [&] { return describe(node, copy); });
    }
    return copy;
  }

 private:
  bool fits(const Node& node, const Graph& graph) const {
    if (find_opset_rule(node.op->name, node.version, opset_) != nullptr) return false;
    if (!same_meaning(node.op->name, node.version, opset_)) return false;
    Node renewed = node;
    renewed.version = opset_;
    if (!is_standard(renewed)) return false;
    const Signature& signature = *find_signature("", node.op->name, opset_);
    return has_required(node, signature) && types_fit(node, graph, signature);
  }

  void add(Builder& builder, Node node) const {
    if (node.op->domain.empty() && !fits(node, builder.graph())) return replace(builder, node);
    if (node.op->domain.empty()) node.version = opset_;
    // The types are known; inferring them again could only repeat what they say.
    builder.graph().nodes.push_back(std::move(node));
  }

  // The replacement is of the newest version, and converted in its turn.
  void replace(Builder& builder, const Node& node) const {
    Graph& graph = builder.graph();
    const std::size_t before = graph.nodes.size();
    std::vector<Val> results;
    if (const OpsetRule* rule = find_opset_rule(node.op->name, node.version, opset_)) {
      OldNode old(builder, node, opset_);
      results = rule->rewrite(old);
    } else if (node.op->expand != nullptr) {
      builder.set_expand([](const Node& each) { return !is_standard(each); });
      ExpandContext context(builder, node);
      results = node.op->expand(context);
      builder.set_expand({});
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == no_value) continue;
      if (i >= results.size() || !results[i]) {
        fail(ErrorCode::unsupported, "operator ", node.op->name, " of version ", node.version,
             " cannot be written in version ", opset_, " of ai.onnx");
      }
      builder.alias(results[i], node.outputs[i]);
    }
    std::vector<Node> added(graph.nodes.begin() + static_cast<std::ptrdiff_t>(before),
                            graph.nodes.end());
    graph.nodes.resize(before);
    for (Node& one : added) {
      const bool again = one.op == node.op && one.version == node.version;
      if (again && !fits(one, graph)) {
        fail(ErrorCode::unsupported, "operator ", node.op->name, " of version ", node.version,
             " cannot be written in version ", opset_, " of ai.onnx");
      }
      add(builder, std::move(one));
    }
  }

  std::int64_t opset_;
  const Catalogue* catalogue_;
};

}  // namespace

bool same_meaning(std::string_view op, std::int64_t from, std::int64_t to) noexcept {
  return std::none_of(changes.begin(), changes.end(), [&](const Change& one) {
    return one.op == op && (from < one.version) != (to < one.version);
  });
}

std::vector<Val> OldNode::inputs() const {
  std::vector<Val> values;
  for (std::size_t i = 0; i < input_count(); ++i) values.push_back(x(i));
  return values;
}

Attributes OldNode::without(std::initializer_list<std::string_view> names) const {
  Attributes rest = node().attributes;
  std::erase_if(rest, [&](const Attribute& one) {
    return std::find(names.begin(), names.end(), one.name) != names.end();
  });
  return rest;
}

std::vector<Val> OldNode::again(std::span<const Val> inputs, Attributes attributes,
                                std::string_view op) const {
  return builder().nodes(op.empty() ? node().op->name : op, inputs, std::move(attributes),
                         node().outputs.size());
}

Graph convert_opset(const Graph& graph, std::int64_t opset, const Catalogue& catalogue) {
  return Converter(opset, catalogue).run(graph);
}

}  // namespace ondine::graph
