#include "graph/training/prepare/exporter/lost.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/message.h"
#include "graph/training/prepare/exporter/merged.h"
#include "graph/training/prepare/exporter/traced.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/constants.h"
#include "graph/training/prepare/parameters/modules.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/parameters/signature.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

struct Findings {
  Texts merged;
  Texts folded;
  Texts renamed;
  Texts without_bias;
  Texts computed;
};

class LostParametersSearch {
 public:
  LostParametersSearch(const GraphDef& graph, const std::set<std::string_view>& restored)
      : graph_(&graph),
        restored_(&restored),
        producers_(producers_of(graph)),
        uses_(graph),
        signature_(graph),
        modules_(graph) {
    for (const InitializerDef& one : graph.initializers) {
      if (is_differentiable(one.value.dtype())) weights_.emplace(one.name, &one);
    }
    for (const MergedUse& use : merged_uses(graph)) {
      merged_.emplace(&graph.nodes[use.node], use.input);
    }
  }

  Findings run() {
    for (const NodeDef& node : graph_->nodes) {
      const bool is_layer =
          node.domain.empty() && one_of(node.op, {"Gemm", "MatMul", "Conv", "ConvTranspose"});
      const std::string module = is_layer ? modules_.of(node) : std::string();
      if (!module.empty()) visit(node, module);
    }
    for (const InitializerDef& one : graph_->initializers) find_source(one.name, one.metadata);
    for (const ValueDef& one : graph_->value_infos) find_source(one.name, one.metadata);
    return std::move(found_);
  }

 private:
  // The initializer that an input is, or is moved from; "" for data, and for what the exporter
  // wrote as an Identity, of which other notes speak.
  std::string weight_of(std::string name) const {
    auto producer = producers_.find(name);
    while (producer != producers_.end() && only_moves(*producer->second) &&
           producer->second->op != "Gather") {
      if (is_merged_identity(*producer->second)) return {};
      name = producer->second->inputs.at(0);
      producer = producers_.find(name);
    }
    return weights_.contains(name) ? name : std::string();
  }

  void visit(const NodeDef& node, const std::string& module) {
    bool has_weight = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string weight = weight_of(node.inputs[i]);
      if (weight.empty()) continue;
      has_weight = true;
      if (is_generated_name(weight)) {
        found_.renamed.add(quoted(module) + " (" + quoted(weight) + ")");
      } else if (weight.find('.') != std::string::npos && !weight.starts_with(module + ".") &&
                 !shares_module(weight, module) && !merged_.contains({&node, i})) {
        (is_read_by_owner(weight) ? found_.merged : found_.folded)
            .add(quoted(module) + " (" + quoted(weight) + ")");
      }
    }
    if (has_weight && has_scopes(node) && !has_bias(node, module)) {
      found_.without_bias.add(quoted(module));
    }
  }

  // Reports a weight that was computed from a parameter and other values, as rows of an embedding
  // are when their indices do not depend on the inputs, or a weight of one element that was
  // computed from a parameter and so cannot merely have been moved.
  void find_source(const std::string& name, const Properties& metadata) {
    const auto weight = weights_.find(name);
    if (weight == weights_.end() || restored_->contains(name)) return;
    const std::vector<std::string> sources = folded_from(metadata);
    if (sources.size() < 2 && weight->second->value.size() > 1) return;
    const auto parameter = std::find_if(sources.begin(), sources.end(), [&](const auto& source) {
      return signature_.is_parameter(source) || is_parameter_name(source, {});
    });
    if (parameter != sources.end()) {
      found_.computed.add(quoted(name) + " (from " + quoted(*parameter) + ")");
    }
  }

  // A parameter of a module around it, as attention has for its projections.
  static bool shares_module(std::string_view weight, std::string_view module) {
    const std::string_view owner = weight.substr(0, weight.rfind('.'));
    return module == owner || module.starts_with(std::string(owner) + ".");
  }

  bool is_read_by_owner(std::string_view weight) const {
    // Rows of a table are looked up under the name of any module that has it.
    const auto is_owner = [&](const Use& use) {
      return modules_.of(*use.node) == owner_of(weight) ||
             (is_standard(*use.node, "Gather") && use.input == 0);
    };
    const std::vector<Use> readers = uses_.of(weight);
    const std::span<const Use> direct = uses_.direct(weight);
    return std::any_of(direct.begin(), direct.end(), is_owner) ||
           std::any_of(readers.begin(), readers.end(), is_owner);
  }

  bool has_bias(const NodeDef& node, const std::string& module) const {
    if (node.inputs.size() > 2 && node.op != "MatMul") return true;
    const std::vector<Use> readers = uses_.of(node.outputs.at(0));
    return std::any_of(readers.begin(), readers.end(), [&](const Use& use) {
      if (use.node->op == "BatchNormalization") return true;
      return use.node->op == "Add" && modules_.of(*use.node) == module;
    });
  }

  const GraphDef* graph_;
  const std::set<std::string_view>* restored_;
  Producers producers_;
  DocumentUses uses_;
  GraphSignature signature_;
  Modules modules_;
  std::unordered_map<std::string_view, const InitializerDef*> weights_;
  std::set<std::pair<const NodeDef*, std::size_t>> merged_;  // of which other notes speak
  Findings found_;
};

// Whether the file tells of modules or of what its weights were computed from.
bool tells_of_modules(const GraphDef& graph) {
  const auto has_metadata = [](const auto& one) { return !one.metadata.empty(); };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const NodeDef& node) {
                       return node.name.starts_with('/') || !node.metadata.empty();
                     }) ||
         std::any_of(graph.initializers.begin(), graph.initializers.end(), has_metadata) ||
         std::any_of(graph.value_infos.begin(), graph.value_infos.end(), has_metadata);
}

// Whether the exporter's optimizer, which drops zeros, has run.
bool is_optimized(const GraphDef& graph) {
  const auto is_trace = [](const auto& one) { return one.first.starts_with("pkg.onnxscript."); };
  const auto is_marked = [&](const auto& one) {
    return std::any_of(one.metadata.begin(), one.metadata.end(), is_trace);
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_marked) ||
         std::any_of(graph.value_infos.begin(), graph.value_infos.end(), is_marked);
}

}  // namespace

std::vector<std::string> lost_parameters(const ModelDef& model,
                                         const std::vector<std::string>& restored) {
  if (!tells_of_modules(model.graph)) return {};
  const std::set<std::string_view> excluded(restored.begin(), restored.end());
  const Findings found = LostParametersSearch(model.graph, excluded).run();
  std::vector<std::string> notes;
  if (!found.merged.empty()) {
    notes.push_back(
        "modules that read parameters of others, which are tied or were equal when the "
        "model was exported, and train as one: " +
        listed(found.merged));
  }
  const std::size_t without_remedy = notes.size();
  if (!found.folded.empty()) {
    notes.push_back("modules that were folded into parameters of others, and train in that form: " +
                    listed(found.folded));
  }
  if (!found.renamed.empty()) {
    notes.push_back(
        "modules whose parameters were transposed or folded into others under new "
        "names, and train in that form: " +
        listed(found.renamed));
  }
  if (!found.computed.empty()) {
    notes.push_back(
        "values that were computed from parameters when the model was exported, and train in "
        "their place: " +
        listed(found.computed));
  }
  if (is_optimized(model.graph)) {
    if (GraphSignature(model.graph).has_parameters()) {
      std::vector<std::string> missing = missing_parameters(model.graph);
      std::erase_if(missing, [&](const auto& name) { return excluded.contains(name); });
      for (std::string& name : missing) name = quoted(name);
      if (!missing.empty()) {
        notes.push_back(
            "parameters that the file does not have, since they are unused, were zero and left "
            "out, or are tied to others or folded into them: " +
            listed(missing));
      }
    } else if (!found.without_bias.empty()) {
      notes.push_back(
          "modules without a bias, which they never had or which was zero and left out: " +
          listed(found.without_bias));
    }
  }
  if (notes.size() == without_remedy) return notes;
  notes.emplace_back(
      "torch.onnx.export keeps every parameter under its name with optimize=False (dynamo=True) or "
      "do_constant_folding=False (dynamo=False)");
  return notes;
}

}  // namespace ondine::graph
