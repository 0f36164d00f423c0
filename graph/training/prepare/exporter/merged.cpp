#include "graph/training/prepare/exporter/merged.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/to_doubles.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/modules.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/parameters/signature.h"
#include "graph/training/prepare/sources.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

// The exporter's optimizer leaves larger tensors alone.
constexpr std::int64_t most_merged_elements = 1024;

enum class Role : std::uint8_t { weight, bias, running_mean, running_var };

Role role_of(const NodeDef& node, std::size_t input) {
  if (is_standard(node, "BatchNormalization") && input >= 3) {
    return input == 3 ? Role::running_mean : Role::running_var;
  }
  const bool has_bias =
      is_normalization(node) || one_of(node.op, {"Gemm", "Conv", "ConvTranspose"});
  return (has_bias && input == 2) || one_of(node.op, {"Add", "Sub"}) ? Role::bias : Role::weight;
}

bool is_statistic_role(Role role) noexcept {
  return role == Role::running_mean || role == Role::running_var;
}

Role role_of_name(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last == "running_mean") return Role::running_mean;
  if (last == "running_var") return Role::running_var;
  const bool is_bias =
      last.find("bias") != std::string_view::npos || last.find("beta") != std::string_view::npos;
  return is_bias ? Role::bias : Role::weight;
}

// Whether normalization by the tensor changes nothing.
bool is_neutral(const Tensor& tensor, Role role) {
  const auto values = to_doubles(tensor);
  const double wanted = role == Role::bias ? 0 : 1;
  return values &&
         std::all_of(values->begin(), values->end(), [&](double one) { return one == wanted; });
}

// How many of the last parts between dots are equal.
std::size_t common_path(std::string_view a, std::string_view b) {
  std::size_t count = 0;
  while (true) {
    const std::string_view last_a = a.substr(a.rfind('.') + 1);
    const std::string_view last_b = b.substr(b.rfind('.') + 1);
    if (last_a != last_b) return count;
    ++count;
    if (last_a.size() == a.size() || last_b.size() == b.size()) return count;
    a.remove_suffix(last_a.size() + 1);
    b.remove_suffix(last_b.size() + 1);
  }
}

struct Input {
  std::size_t node = 0;
  std::size_t index = 0;
};

class MergedParametersSearch {
 public:
  explicit MergedParametersSearch(const GraphDef& graph)
      : graph_(&graph),
        signature_(graph),
        sources_(graph, signature_),
        producers_(signature_.has_parameters() ? producers_of(graph) : Producers()) {
    for (const ValueDef& one : graph.inputs) inputs_.insert(one.name);
    for (const InitializerDef& one : graph.initializers) {
      if (!is_differentiable(one.value.dtype()) || inputs_.contains(one.name)) continue;
      initializers_.emplace(one.name, &one);
    }
    find_missing();
  }

  std::vector<MergedUse> run() {
    if (signature_.has_parameters()) find_by_modules();
    find_statistics();
    std::sort(found_.begin(), found_.end(), [](const MergedUse& a, const MergedUse& b) {
      return std::tie(a.node, a.input) < std::tie(b.node, b.input);
    });
    return std::move(found_);
  }

  std::vector<std::string> missing() const {
    std::vector<std::string> names;
    for (const std::size_t place : missing_) {
      const GraphSignature::Entry& entry = signature_.entries()[place];
      if (entry.is_parameter) names.push_back(entry.name);
    }
    return names;
  }

 private:
  void find_missing() {
    const std::vector<GraphSignature::Entry>& entries = signature_.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string& name = entries[i].name;
      const bool trains_or_follows = entries[i].is_parameter || graph::is_statistic(name);
      if (trains_or_follows && !initializers_.contains(name) && !inputs_.contains(name) &&
          !sources_.is_folded(name) && !producers_.contains(name)) {
        missing_.push_back(i);
        missing_names_.emplace(name, i);
        if (owner_of(name).empty()) outermost_.push_back(i);
      }
    }
  }

  // Missing parameters of a module and of those in it, in the order of the list.
  std::vector<std::size_t> missing_in(std::string_view module) const {
    if (module.empty()) return outermost_;
    std::vector<std::size_t> places;
    const std::string inside = std::string(module) + ".";
    for (auto one = missing_names_.lower_bound(inside);
         one != missing_names_.end() && one->first.starts_with(inside); ++one) {
      places.push_back(one->second);
    }
    std::sort(places.begin(), places.end());
    return places;
  }

  void find_by_modules() {
    std::map<std::tuple<std::string, std::string, Role>, std::vector<Input>> groups;
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const NodeDef& node = graph_->nodes[i];
      if (!has_scopes(node)) continue;
      modules_.insert(module_of(node));
      if (is_normalization(node)) normalizing_.insert(module_of(node));
      for (std::size_t j = 0; j < node.inputs.size(); ++j) {
        if (!initializers_.contains(node.inputs[j])) continue;
        const std::string module = module_of(node);
        groups[{module, node.inputs[j], role_of(node, j)}].push_back({i, j});
        const std::string& source = sources_.of(node.inputs[j]);
        if (!source.empty() && is_in(source, module)) read_.insert(source);
      }
    }
    for (auto& [key, uses] : groups) find_layer_biases(std::get<1>(key), uses);
    // Initializers that are known to come from a parameter go first: a module has each of its own
    // only once.
    for (const bool has_source : {true, false}) {
      for (const auto& [key, uses] : groups) {
        const auto& [module, kept, role] = key;
        if (sources_.of(kept).empty() != has_source) assign(module, kept, role, uses);
      }
    }
  }

  // The bias "fc.bias" of a layer that multiplies by "fc.weight", or by a value folded from it.
  void find_layer_biases(const std::string& kept, std::vector<Input>& uses) {
    const std::string& source = sources_.of(kept);
    if (!may_be_merged(kept) || source.empty()) return;
    std::erase_if(uses, [&](const Input& use) {
      const std::string& weight = sources_.of(weight_beside(use));
      if (owner_of(weight).empty()) return false;
      const std::string name = std::string(owner_of(weight)) + ".bias";
      if (!missing_names_.contains(name) || signature_.place(name) < signature_.place(source))
        return false;
      taken_.emplace(name, source);
      found_.push_back({use.node, use.index, Merged::parameter, kept, name});
      return true;
    });
  }

  // The weight of the layer whose bias an input is; "" if it is none.
  std::string weight_beside(const Input& use) const {
    const NodeDef* node = &graph_->nodes[use.node];
    if (is_standard(*node, "Add") && node->inputs.size() == 2) {
      node = standard_producer(producers_, node->inputs[1 - use.index]);
      if (node == nullptr || node->op != "MatMul") return {};
    } else if (use.index != 2 || !makes_products(node->op)) {
      return {};
    }
    return node->inputs.size() < 2 ? std::string() : node->inputs[1];
  }

  // Whether a parameter of another module may have been merged into the initializer. Where its own
  // module does not read it, the exporter moved a node, as it does to fold BatchNormalization.
  bool may_be_merged(const std::string& kept) const {
    const Tensor& value = initializers_.at(kept)->value;
    const std::string& source = sources_.of(kept);
    return value.size() > 0 && value.size() <= most_merged_elements &&
           (source.empty() || read_.contains(source));
  }

  static bool is_in(std::string_view name, std::string_view module) {
    return owner_of(name) == module ||
           (!module.empty() && name.starts_with(std::string(module) + "."));
  }

  // Parameters of `module` that were merged into `kept`, and "" for its source if that is one of
  // them. Those further in, with the longest path in common with it, go before those of the module
  // itself, and these before others.
  std::vector<std::string> candidates(std::string_view module, const std::string& kept, Role role,
                                      bool by_name) const {
    const std::string& source = sources_.of(kept);
    // Nodes of inner modules read their own.
    const auto fits = [&](std::string_view name) {
      if (!is_in(name, module)) return false;
      if (owner_of(name) != module && modules_.contains(owner_of(name))) return false;
      const Role named = role_of_name(name);
      return by_name ? named == role
                     : !is_statistic_role(named) && name.find("weight") == std::string_view::npos;
    };
    std::vector<std::string> names;
    std::size_t best = 0;
    for (const std::size_t place : missing_in(module)) {
      const std::string& name = signature_.entries()[place].name;
      const auto taken = taken_.find(name);
      // Folded initializers are merged in the order of the nodes; two parameters of one module are
      // never one tensor.
      const bool may_precede = kept != source && owner_of(name) == owner_of(source);
      const bool precedes = static_cast<std::ptrdiff_t>(place) < signature_.place(source);
      if (!fits(name) || (precedes && !may_precede) ||
          (taken != taken_.end() && taken->second != source)) {
        continue;
      }
      const std::size_t common = common_path(name, source);
      const std::size_t rank = owner_of(name) == module ? 2 : common > 1 ? common + 1 : 1;
      if (rank > best) names.clear();
      best = std::max(best, rank);
      if (rank == best) names.push_back(name);
    }
    if (!names.empty() && fits(source)) names.insert(names.begin(), std::string());
    return names;
  }

  void assign(const std::string& module, const std::string& kept, Role role,
              const std::vector<Input>& uses) {
    if (uses.empty() || !may_be_merged(kept)) return;
    const std::string& source = sources_.of(kept);
    if (source.empty() && !may_be_parameter(initializers_.at(kept)->value, role, uses)) return;
    std::vector<std::string> names = candidates(module, kept, role, true);
    // Add reads terms of any name.
    if (names.empty() && role == Role::bias && !source.empty() && owner_of(source) != module &&
        !is_normalization(graph_->nodes[uses[0].node])) {
      names = candidates(module, kept, role, false);
    }
    if (names.empty()) {
      find_constants(module, kept, source, role, uses);
      return;
    }
    // A module may read each of its parameters more than once, in the same order.
    if (uses.size() % names.size() != 0) return;
    const Merged kind = is_statistic_role(role) ? Merged::statistic : Merged::parameter;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const std::string& own = names[i % names.size()];
      if (own.empty()) continue;
      taken_.emplace(own, source);
      found_.push_back({uses[i].node, uses[i].index, kind, kept, own});
    }
  }

  // Whether a constant may be a parameter too. Those of one element belong to formulas;
  // GroupNormalization is written with constants in an InstanceNormalization.
  bool may_be_parameter(const Tensor& value, Role role, const std::vector<Input>& uses) const {
    return value.size() > 1 && is_neutral(value, role) &&
           std::none_of(uses.begin(), uses.end(), [&](const Input& use) {
             return is_standard(graph_->nodes[use.node], "InstanceNormalization");
           });
  }

  // Ones and zeros of normalizations without parameters.
  void find_constants(const std::string& module, const std::string& kept, const std::string& source,
                      Role role, const std::vector<Input>& uses) {
    if (!signature_.is_parameter(source) || is_in(source, module) || is_statistic_role(role) ||
        !normalizing_.contains(module)) {
      return;
    }
    if (!is_neutral(initializers_.at(kept)->value, role)) return;
    const std::vector<std::size_t> missing = missing_in(module);
    const bool is_tied = std::any_of(missing.begin(), missing.end(), [&](std::size_t place) {
      return role_of_name(signature_.entries()[place].name) == role;
    });
    if (is_tied) return;
    for (const Input& use : uses)
      found_.push_back({use.node, use.index, Merged::constant, kept, {}});
  }

  // Finds shared running statistics in models of any exporter.
  void find_statistics() {
    std::optional<DocumentUses> readers;
    std::set<std::pair<std::size_t, std::size_t>> known;
    for (const MergedUse& use : found_) known.emplace(use.node, use.input);
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const NodeDef& node = graph_->nodes[i];
      if (!is_standard(node, "BatchNormalization") || node.inputs.size() < 5) continue;
      for (const std::size_t j : {std::size_t{3}, std::size_t{4}}) {
        const std::string& name = node.inputs[j];
        if (!initializers_.contains(name) || known.contains({i, j}) || graph::is_statistic(name)) {
          continue;
        }
        if (!readers) readers.emplace(*graph_);
        const std::vector<Use> uses = readers->of(name);
        const bool is_shared = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
          return role_of(*use.node, use.input) != role_of(node, j);
        });
        if (is_shared) found_.push_back({i, j, Merged::statistic, name, {}});
      }
    }
  }

  const GraphDef* graph_;
  GraphSignature signature_;
  Sources sources_;
  Producers producers_;
  std::set<std::string_view> inputs_;
  std::unordered_map<std::string_view, const InitializerDef*> initializers_;
  std::set<std::string, std::less<>> modules_;  // with nodes
  std::set<std::string> normalizing_;           // modules with a normalization
  std::set<std::string, std::less<>> read_;     // parameters that their own modules read
  std::vector<std::size_t> missing_;            // places in the list
  std::vector<std::size_t> outermost_;          // those of the outermost module
  std::map<std::string_view, std::size_t> missing_names_;
  std::map<std::string, std::string, std::less<>> taken_;  // parameters that were found, by source
  std::vector<MergedUse> found_;
};

}  // namespace

std::vector<MergedUse> merged_uses(const GraphDef& graph) {
  return MergedParametersSearch(graph).run();
}

std::vector<std::string> missing_parameters(const GraphDef& graph) {
  if (!GraphSignature(graph).has_parameters()) return {};
  MergedParametersSearch search(graph);
  std::vector<std::string> names = search.missing();
  std::set<std::string> merged;
  for (const MergedUse& use : search.run()) merged.insert(use.own);
  std::erase_if(names, [&](const std::string& name) { return merged.contains(name); });
  return names;
}

}  // namespace ondine::graph
