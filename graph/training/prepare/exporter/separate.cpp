#include "graph/training/prepare/exporter/separate.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/exporter/merged.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/metadata.h"
#include "graph/training/prepare/parameters/modules.h"
#include "graph/training/prepare/parameters/origin.h"

namespace ondine::graph {
namespace {

// Metadata that the exporter writes for a tensor that it did not merge.
Properties metadata_of(const MergedUse& use, bool is_folded) {
  if (is_folded) return folded_metadata(use.own);
  return kind_metadata(use.kind == Merged::parameter   ? "PARAMETER"
                       : use.kind == Merged::statistic ? "BUFFER"
                                                       : "CONSTANT_TENSOR");
}

std::string name_hint(const MergedUse& use, bool is_folded) {
  if (!use.own.empty() && !is_folded) return use.own;
  switch (use.kind) {
    case Merged::parameter:
      return use.kept;
    case Merged::constant:
      return use.kept + ".constant";
    case Merged::statistic:
      break;
  }
  return use.kept + (use.input == 3 ? ".running_mean" : ".running_var");
}

std::string described(const NodeDef& node, const MergedUse& use) {
  std::string name = quoted(use.own);
  if (use.own.empty()) {
    const std::string module = module_of(node);
    name = use.kind == Merged::constant ? "a constant of " : "a running statistic of ";
    name += quoted(!module.empty() ? module : !node.name.empty() ? node.name : node.outputs.at(0));
  }
  return name + " (" + quoted(use.kept) + ")";
}

class Separator {
 public:
  explicit Separator(ModelDef& model) : graph_(&model.graph), names_(model) {
    for (std::size_t i = 0; i < graph_->initializers.size(); ++i) {
      index_.emplace(graph_->initializers[i].name, i);
    }
    for (const ValueDef& one : graph_->value_infos) {
      if (!folded_from(one.metadata).empty()) folded_.insert(one.name);
    }
  }

  void give_own(const MergedUse& use) {
    const bool is_folded = folded_.contains(use.kept);
    const std::string hint = name_hint(use, is_folded && !use.own.empty());
    const auto [copy, added] = copies_.try_emplace({use.kept, use.own, hint});
    if (added) {
      copy->second = names_.fresh(hint);
      InitializerDef one;
      one.name = copy->second;
      one.value = graph_->initializers[index_.at(use.kept)].value;
      one.metadata = metadata_of(use, is_folded && !use.own.empty());
      graph_->initializers.push_back(std::move(one));
    }
    graph_->nodes[use.node].inputs[use.input] = copy->second;
  }

 private:
  GraphDef* graph_;
  Names names_;
  std::unordered_map<std::string, std::size_t> index_;  // of initializers
  std::set<std::string> folded_;
  std::map<std::tuple<std::string, std::string, std::string>, std::string> copies_;
};

}  // namespace

std::vector<std::string> separate_merged(ModelDef& model, Separation separation) {
  const std::vector<MergedUse> uses = merged_uses(model.graph);
  if (uses.empty()) return {};
  Separator separator(model);
  Texts own;
  Texts tied;
  for (const MergedUse& use : uses) {
    const bool separates = separation != Separation::none || use.kind != Merged::parameter;
    (separates ? own : tied).add(described(model.graph.nodes[use.node], use));
    if (separates) separator.give_own(use);
  }
  std::vector<std::string> notes;
  if (!own.empty()) {
    notes.push_back(
        "tensors that the exporter merged with equal ones, and which are separate again: " +
        listed(own));
  }
  if (!tied.empty()) {
    notes.push_back(
        "parameters that the exporter merged with equal ones, and which train as one, as asked for "
        "(tie, --tie): " +
        listed(tied));
  }
  return notes;
}

}  // namespace ondine::graph
