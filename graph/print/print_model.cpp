#include "core/message.h"
#include "graph/contract/opsets.h"
#include "graph/contract/signature.h"
#include "graph/ir/walk.h"
#include "graph/print/format.h"
#include "graph/print/print.h"

namespace ondine::graph {
namespace {

class ModelPrinter {
 public:
  std::string run(const ModelDef& model) {
    lines_.add(0,
               cat("model, ir_version ", model.ir_version,
                   model.producer_name.empty()
                       ? ""
                       : cat(", by ", quoted(model.producer_name + " " + model.producer_version))));
    imports(model.opsets, 1);
    graph(model.graph, "graph", 1);
    for (std::size_t i = 0; i < model.training.size(); ++i) training(model.training[i], i);
    for (const auto& each : model.functions) function(each);
    return lines_.take();
  }

 private:
  void imports(const std::vector<OpsetImport>& opsets, int level) {
    opsets_ = Opsets(opsets);
    for (const auto& import : opsets) {
      lines_.add(level,
                 cat("import ", printed_name(spelled_domain(import.domain)), " ", import.version));
    }
  }

  // "-13"; empty when the domain is not imported.
  std::string version(const std::string& domain) const {
    const auto found = opsets_.version(domain);
    return found ? cat("-", *found) : std::string();
  }

  static std::string typed(const std::string& name, const TypeDef& type) {
    const auto text = printed_type(type);
    return printed_name(name) + (text.empty() ? "" : ": " + text);
  }

  void graph(const GraphDef& graph, std::string_view title, int level) {
    lines_.add(level, cat(title, " ", printed_name(graph.name)));
    for (const auto& input : graph.inputs) {
      lines_.add(level + 1, "input " + typed(input.name, input.type));
    }
    for (const auto& each : graph.initializers) {
      lines_.add(level + 1,
                 cat("initializer ", printed_name(each.name), ": ", printed_tensor(each.value)));
    }
    for (const auto& each : graph.sparse_initializers) {
      lines_.add(level + 1,
                 cat("initializer ", printed_name(each.name), ": sparse_tensor(",
                     each.values.dtype(), ")", each.dims, " with ", each.values.size(), " values"));
    }
    std::map<std::string_view, const TypeDef*> types;
    for (const auto* values : {&graph.value_infos, &graph.outputs}) {
      for (const auto& value : *values) types.emplace(value.name, &value.type);
    }
    for (const auto& each : graph.nodes) node(each, types, level + 1);
    for (const auto& output : graph.outputs) {
      lines_.add(level + 1, "output " + typed(output.name, output.type));
    }
  }

  void node(const NodeDef& node, const std::map<std::string_view, const TypeDef*>& types,
            int level) {
    const auto output = [&](const std::string& name) -> std::string {
      if (name.empty()) return "_";
      const auto found = types.find(name);
      return found == types.end() ? printed_name(name) : typed(name, *found->second);
    };
    std::string text = printed_list(node.outputs, output) + " = ";
    if (!canonical_domain(node.domain).empty()) text += printed_name(node.domain) + ".";
    text += printed_name(node.op);
    if (!node.overload->empty()) text += ":" + printed_name(*node.overload);
    text += version(node.domain) + "(";
    text += printed_list(node.inputs, [](const std::string& name) {
      return name.empty() ? "_" : printed_name(name);
    });
    text += ")";
    if (!node.attributes.empty()) {
      text += " {" + printed_list(node.attributes, printed_attribute) + "}";
    }
    if (!node.name.empty()) text += "  # " + printed_name(node.name);
    lines_.add(level, text);
    for_each_subgraph(node, [&](const Attribute& attribute, const GraphDef& subgraph) {
      graph(subgraph, printed_name(attribute.name), level + 1);
    });
  }

  void training(const TrainingInfoDef& info, std::size_t index) {
    lines_.add(1, cat("training_info ", index));
    const auto part = [&](const std::optional<GraphDef>& of, std::string_view title,
                          const Properties& binding) {
      if (of) graph(*of, title, 2);
      for (const auto& [key, value] : binding) {
        lines_.add(2, cat(title, " binding ", printed_name(key), " <- ", printed_name(value)));
      }
    };
    part(info.initialization, "initialization", info.initialization_binding);
    part(info.algorithm, "algorithm", info.update_binding);
  }

  void function(const FunctionDef& function) {
    std::string text = "function " + printed_name(function.name);
    if (!function.domain.empty()) text += " of " + printed_name(function.domain);
    if (!function.overload.empty()) text += ":" + printed_name(function.overload);
    text += "(" + printed_list(function.inputs, printed_name) + ") -> (" +
            printed_list(function.outputs, printed_name) + ")";
    auto attributes = printed_list(function.attributes, printed_name);
    if (!attributes.empty() && !function.defaults.empty()) attributes += ", ";
    attributes += printed_list(function.defaults, printed_attribute);
    if (!attributes.empty()) text += " {" + attributes + "}";
    lines_.add(1, text);
    imports(function.opsets, 2);
    std::map<std::string_view, const TypeDef*> types;
    for (const auto& value : function.value_infos) types.emplace(value.name, &value.type);
    for (const auto& each : function.nodes) node(each, types, 2);
  }

  Lines lines_;
  Opsets opsets_;
};

}  // namespace

std::string print(const ModelDef& model) { return ModelPrinter().run(model); }

}  // namespace ondine::graph
