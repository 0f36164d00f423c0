#include "graph/training/prepare/exporter/traced.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/modules.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/uses.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "layers.#.fc#" of "layers.0.fc1"; `whole`: only parts that are numbers, "layers.#.fc1".
std::string without_numbers(std::string_view name, bool whole) {
  std::string result;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool is_part = (i == 0 || name[i - 1] == '.') && (end == name.size() || name[end] == '.');
    if (end > i && (is_part || !whole)) {
      result += '#';
    } else {
      end = std::max(end, i + 1);
      result += name.substr(i, end - i);
    }
    i = end;
  }
  return result;
}

bool is_within(std::string_view inner, std::string_view outer) {
  return outer.empty() || inner == outer ||
         (inner.starts_with(outer) && inner[outer.size()] == '.');
}

bool reads_statistic(const Use& use) {
  return is_standard(*use.node, "BatchNormalization") && (use.input == 3 || use.input == 4);
}

// "bias" or "weight", for inputs that layers have for these.
std::optional<std::string> part_read(const Use& use) {
  const NodeDef& node = *use.node;
  const bool is_layer = node.domain.empty() && one_of(node.op, {"Gemm", "Conv", "ConvTranspose"});
  if ((is_layer || is_normalization(node)) && use.input == 2) return "bias";
  if ((is_layer || is_normalization(node)) && use.input == 1) return "weight";
  return std::nullopt;
}

class TracedSeparator {
 public:
  TracedSeparator(ModelDef& model, Separation separation)
      : graph_(&model.graph),
        is_torch_(model.producer_name == "pytorch"),
        separation_(separation),
        uses_(model.graph),
        names_(model),
        modules_(model.graph) {
    for (std::size_t i = 0; i < graph_->initializers.size(); ++i) {
      index_.emplace(graph_->initializers[i].name, i);
    }
    for (const ValueDef& one : graph_->inputs) given_.insert(one.name);
    for (const ValueDef& one : graph_->outputs) given_.insert(one.name);
  }

  std::vector<std::string> run() {
    std::vector<bool> gone(graph_->nodes.size());
    bool has_identities = false;
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const NodeDef& node = graph_->nodes[i];
      const InitializerDef* source = source_of(node);
      if (source == nullptr) continue;
      has_identities = true;
      const bool separates = is_separate(source->name, node.outputs[0], source->value);
      if (separates) {
        gone[i] = true;
        copy(source->name, node.outputs[0]);
      }
      note(separates, source->name, node.outputs[0]);
    }
    std::size_t i = 0;
    std::erase_if(graph_->nodes, [&](const NodeDef&) { return gone[i++]; });
    if (is_torch_ && !has_identities && separation_ != Separation::none) separate_reads();
    append_copies();
    return notes();
  }

 private:
  // The initializer that an Identity of the exporter repeats.
  const InitializerDef* source_of(const NodeDef& node) const {
    if (!is_merged_identity(node) || given_.contains(node.outputs[0])) return nullptr;
    const auto found = index_.find(node.inputs[0]);
    return found == index_.end() ? nullptr : &graph_->initializers[found->second];
  }

  bool is_separate(const std::string& kept, const std::string& own, const Tensor& value) const {
    const std::vector<Use> readers = uses_.of(own);
    if (std::any_of(readers.begin(), readers.end(), reads_statistic)) return true;
    if (separation_ != Separation::merged) return separation_ == Separation::all;
    if (!is_torch_) return false;
    if (!is_generated_name(own) && !is_generated_name(kept)) {
      return all_equal(value) || without_numbers(kept, false) == without_numbers(own, false);
    }
    const std::string& module = module_reading(own);
    const std::string& other = module_reading(kept);
    if (module.empty() || other.empty() || module == other) return false;
    return all_equal(value) || without_numbers(module, true) == without_numbers(other, true);
  }

  // The module whose nodes read the value itself, and not a repetition of it.
  const std::string& module_reading(const std::string& name) const {
    const auto [entry, added] = module_reading_.try_emplace(name);
    if (!added) return entry->second;
    for (const Use& use : uses_.direct(name)) {
      if (is_merged_identity(*use.node)) continue;
      entry->second = modules_.of(*use.node);
      break;
    }
    return entry->second;
  }

  // Without Identity nodes: initial zeros and ones that layers read of other modules.
  void separate_reads() {
    for (NodeDef& node : graph_->nodes) {
      const std::string module = modules_.of(node);
      if (module.empty() || has_scopes(node)) continue;
      for (std::size_t input = 1; input < node.inputs.size() && input <= 2; ++input) {
        const auto part = part_read({&node, input});
        const auto found = index_.find(node.inputs[input]);
        if (!part || found == index_.end() || given_.contains(found->first)) continue;
        const std::string& kept = found->first;
        const std::string_view owner = owner_of(kept);
        const std::string own = module + "." + *part;
        if (owner.empty() || is_generated_name(kept) || is_within(owner, module) ||
            is_within(module, owner) || index_.contains(own) ||
            !all_equal(graph_->initializers[found->second].value)) {
          continue;
        }
        const auto [entry, added] = reads_.try_emplace({kept, own});
        if (added) {
          entry->second = names_.fresh(own);
          copy(kept, entry->second);
          note(true, kept, entry->second);
        }
        node.inputs[input] = entry->second;
      }
    }
  }

  void copy(const std::string& kept, const std::string& own) {
    InitializerDef& one = copies_.emplace_back(graph_->initializers[index_.at(kept)]);
    one.name = own;
  }

  void append_copies() {
    for (InitializerDef& one : copies_) graph_->initializers.push_back(std::move(one));
  }

  void note(bool separates, const std::string& kept, const std::string& own) {
    // A module that runs twice reads its own parameter both times.
    const std::string& module = module_reading(own);
    if (!separates && is_generated_name(own) && !module.empty() && module == module_reading(kept)) {
      return;
    }
    const bool is_module = is_generated_name(own) && !module.empty();
    (separates ? separate_ : tied_)
        .push_back((is_module ? "one of " + quoted(module) : quoted(own)) + " (" + quoted(kept) +
                   ")");
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!separate_.empty()) {
      notes.push_back(
          "tensors that the exporter merged with equal ones, and which are separate again: " +
          listed(separate_));
    }
    if (!tied_.empty()) {
      notes.push_back(
          "parameters that are tied, or that the exporter merged with equal ones, and which train "
          "as one unless they are untied (untie, --untie): " +
          listed(tied_));
    }
    return notes;
  }

  GraphDef* graph_;
  bool is_torch_;
  Separation separation_;
  DocumentUses uses_;
  Names names_;
  std::unordered_map<std::string, std::size_t> index_;  // of initializers
  std::unordered_set<std::string> given_;               // inputs and outputs of the graph
  Modules modules_;
  mutable std::unordered_map<std::string, std::string> module_reading_;
  std::map<std::pair<std::string, std::string>, std::string> reads_;
  std::vector<InitializerDef> copies_;
  std::vector<std::string> separate_;
  std::vector<std::string> tied_;
};

}  // namespace

// Identity nodes of the network itself have the name of a module, or metadata.
bool is_merged_identity(const NodeDef& node) {
  return is_standard(node, "Identity") && !node.name.starts_with('/') && node.metadata.empty() &&
         node.inputs.size() == 1 && node.outputs.size() == 1;
}

std::vector<std::string> separate_traced(ModelDef& model, Separation separation) {
  return TracedSeparator(model, separation).run();
}

}  // namespace ondine::graph
