#include "graph/training/prepare/parameters.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/constants.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/origin.h"
#include "graph/training/prepare/paths.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

// Layers are nodes that combine parameters with data, counted from the end; an Add that puts the
// bias to the node before it belongs to that node.
class Layers {
 public:
  Layers(const GraphDef& graph, const Strings& live) : producers_(producers_of(graph)) {
    for (const InitializerDef& initializer : graph.initializers) {
      origin_[initializer.name].insert(initializer.name);
    }
    std::vector<const NodeDef*> layers;
    for (const NodeDef& node : graph.nodes) {
      if (trace(node) && std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](const std::string& name) { return live.count(name); })) {
        layers.push_back(&node);
      }
    }
    for (auto node = layers.rbegin(); node != layers.rend(); ++node) number(**node);
  }

  std::size_t number_of(const std::string& parameter) const {
    const auto found = number_.find(parameter);
    return found == number_.end() ? std::numeric_limits<std::size_t>::max() : found->second;
  }

 private:
  // Whether the node reads both parameters and data. A node that reads parameters alone hands
  // them on to its outputs.
  bool trace(const NodeDef& node) {
    Strings parameters;
    bool data = false;
    for (const std::string& name : reads_of(node)) {
      const auto found = origin_.find(name);
      if (found == origin_.end()) {
        data = true;
      } else {
        parameters.insert(found->second.begin(), found->second.end());
      }
    }
    if (data) return !parameters.empty();
    for (const std::string& output : node.outputs) {
      if (!output.empty()) origin_[output] = parameters;
    }
    return false;
  }

  void number(const NodeDef& node) {
    const auto merged = merged_.find(&node);
    const std::size_t layer = merged == merged_.end() ? count_++ : merged->second;
    for (const std::string& name : reads_of(node)) {
      const auto found = origin_.find(name);
      if (found != origin_.end()) {
        for (const std::string& parameter : found->second) number_.try_emplace(parameter, layer);
        continue;
      }
      const auto producer = producers_.find(name);
      if (node.op == "Add" && producer != producers_.end() &&
          makes_products(producer->second->op)) {
        merged_[producer->second] = layer;
      }
    }
  }

  Producers producers_;
  std::map<std::string, Strings, std::less<>> origin_;  // of values that hold parameters alone
  std::map<const NodeDef*, std::size_t> merged_;
  std::map<std::string, std::size_t, std::less<>> number_;
  std::size_t count_ = 0;
};

void require_matches(const std::vector<std::string>& patterns, const char* option,
                     const std::vector<const InitializerDef*>& parameters) {
  for (const std::string& pattern : patterns) {
    const bool found = std::any_of(parameters.begin(), parameters.end(), [&](const auto* one) {
      return matches_glob(pattern, one->name);
    });
    if (found) continue;
    std::string names;
    for (std::size_t i = 0; i < parameters.size() && i < 10; ++i) {
      names += (i == 0 ? "" : ", ") + parameters[i]->name;
    }
    if (parameters.size() > 10) names += ", ...";
    fail(ErrorCode::mismatch, option, " pattern ", quoted(pattern),
         " matches no parameter; the model has: ", names.empty() ? "none" : names);
  }
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

const InitializerDef* find_initializer(const GraphDef& graph, std::string_view name) noexcept {
  for (const InitializerDef& initializer : graph.initializers) {
    if (initializer.name == name) return &initializer;
  }
  return nullptr;
}

void untie_parameters(GraphDef& graph) {
  std::vector<InitializerDef> copies;
  // Identities that stand in the network itself have the name of a module, or metadata.
  const auto written = [](const NodeDef& node) {
    return node.name.starts_with('/') || !node.metadata.empty();
  };
  const auto untied = [&](const NodeDef& node) {
    if (written(node) || node.op != "Identity" || !node.domain.empty() || node.inputs.size() != 1 ||
        node.outputs.size() != 1) {
      return false;
    }
    const InitializerDef* source = find_initializer(graph, node.inputs[0]);
    const bool given = std::any_of(graph.outputs.begin(), graph.outputs.end(),
                                   [&](const auto& one) { return one.name == node.outputs[0]; });
    if (source == nullptr || given) return false;
    InitializerDef& copy = copies.emplace_back(*source);
    copy.name = node.outputs[0];
    return true;
  };
  std::erase_if(graph.nodes, untied);
  std::move(copies.begin(), copies.end(), std::back_inserter(graph.initializers));
}

namespace {
bool holds(const std::vector<const InitializerDef*>& list, std::string_view name) noexcept {
  return std::any_of(list.begin(), list.end(),
                     [&](const InitializerDef* one) { return one->name == name; });
}
}  // namespace

bool ParameterChoice::trains(std::string_view name) const noexcept { return holds(trained, name); }

bool ParameterChoice::freezes(std::string_view name) const noexcept {
  return holds(frozen, name) && !holds(constants, name);
}

namespace {

class Chooser {
 public:
  Chooser(const GraphDef& graph, const Strings& outputs, const PrepareOptions& options,
          std::string_view producer)
      : graph_(&graph),
        options_(&options),
        outputs_(outputs),
        origins_(origins_of(graph)),
        named_(named_scalars(producer)),
        fixed_(producer == "pytorch" ? fixed_normalizations(graph) : Strings()),
        traced_(producer == "pytorch" && names_its_parameters(graph)),
        live_(differentiable_values(graph, outputs)),
        weights_(weight_values(graph, outputs, named_)),
        uses_(graph) {
    if (options.last_layers) layers_.emplace(graph, live_);
  }

  ParameterChoice run() {
    std::vector<const InitializerDef*> parameters;
    for (const InitializerDef& one : graph_->initializers) {
      if (is_differentiable(one.value.dtype()) && live_.contains(one.name)) {
        parameters.push_back(&one);
      }
    }
    require_matches(options_->train, "train", parameters);
    require_matches(options_->freeze, "freeze", parameters);
    for (const InitializerDef* one : parameters) constant_[one] = why_constant(*one);
    for (const InitializerDef& one : graph_->initializers) {
      if (is_differentiable(one.value.dtype())) choose(one);
    }
    if (choice_.trained.empty()) {
      fail(ErrorCode::mismatch, "nothing to train: ",
           parameters.empty() ? "no floating point initializer reaches output "
                              : "constants aside, the options freeze every parameter of output ",
           quoted(*outputs_.begin()));
    }
    return std::move(choice_);
  }

 private:
  // Elements of one kind that the exporter calls parameters, but for those of its metadata.
  Strings named_scalars(std::string_view producer) const {
    Strings result;
    if (!origins_.parameters.empty()) return origins_.parameters;
    for (const InitializerDef& one : graph_->initializers) {
      if (one.value.size() == 1 && is_parameter_name(one.name, producer)) result.insert(one.name);
    }
    return result;
  }

  // "" for a parameter.
  std::string why_constant(const InitializerDef& one) const {
    if (std::string reason = unfit_values(one.value); !reason.empty()) return reason;
    if (origins_.parameters.contains(one.name)) return {};
    if (origins_.constants.contains(one.name)) return "no parameter in the exporter's metadata";
    if (!weights_.values.contains(one.name)) {
      const auto role = weights_.roles.find(one.name);
      return role == weights_.roles.end() ? "reaches the loss through constants alone"
                                          : role->second;
    }
    if (one.value.shape().empty() && !named_.contains(one.name)) return "a scalar";
    if (fixed_.contains(one.name)) return "of a normalization with fixed statistics";
    if (traced_ && is_traced_constant(one)) {
      return "in a Constant node, where PyTorch's exporter puts no parameters";
    }
    return constant_reason(one.name, one.value, uses_);
  }

  // The pattern of `train` that selects a parameter. Wildcards select constants only where they
  // match nothing else.
  const std::string* training_pattern(const InitializerDef& one) const {
    for (const std::string& pattern : options_->train) {
      if (!matches_glob(pattern, one.name)) continue;
      if (pattern == one.name || constant_.at(&one).empty()) return &pattern;
      const bool matches_parameters =
          std::any_of(constant_.begin(), constant_.end(), [&](const auto& other) {
            return other.second.empty() && matches_glob(pattern, other.first->name);
          });
      if (!matches_parameters) return &pattern;
    }
    return nullptr;
  }

  std::string reader_of(const InitializerDef& one) const {
    const std::vector<Use> readers = uses_.of(one.name);
    if (readers.empty()) return "parameter";
    const NodeDef& node = *readers.front().node;
    if (node.outputs.empty()) return "read by " + node.op;
    return "read by " + node.op + " " + quoted(node.name.empty() ? node.outputs[0] : node.name);
  }

  void choose(const InitializerDef& one) {
    ParameterInfo info{one.name, one.value.shape(), false, {}};
    const auto constant = constant_.find(&one);
    if (constant == constant_.end()) {
      info.reason = "no derivative reaches it";
    } else {
      std::tie(info.trained, info.reason) = decide(one, constant->second);
      (info.trained ? choice_.trained : choice_.frozen).push_back(&one);
      if (!info.trained && !constant->second.empty()) choice_.constants.push_back(&one);
    }
    choice_.table.push_back(std::move(info));
  }

  std::pair<bool, std::string> decide(const InitializerDef& one,
                                      const std::string& constant) const {
    for (const std::string& pattern : options_->freeze) {
      if (matches_glob(pattern, one.name)) return {false, "freeze pattern " + quoted(pattern)};
    }
    const std::string* pattern = training_pattern(one);
    if (pattern == nullptr && !constant.empty()) return {false, constant};
    if (pattern == nullptr && !options_->train.empty()) return {false, "matches no train pattern"};
    if (layers_ && layers_->number_of(one.name) >= *options_->last_layers) {
      return {false, cat("not in the last ", *options_->last_layers, " layers")};
    }
    if (pattern != nullptr) return {true, "train pattern " + quoted(*pattern)};
    return {true, why_parameter(one)};
  }

  std::string why_parameter(const InitializerDef& one) const {
    std::string reason = reader_of(one);
    const bool recorded = origins_.parameters.contains(one.name);
    if (recorded) reason += ", a parameter in the exporter's metadata";
    const bool known = recorded || origins_.derived.contains(one.name);
    const std::string assumed = assumption(one.name, known, uses_);
    if (!assumed.empty()) reason += "; " + assumed;
    return reason;
  }

  const GraphDef* graph_;
  const PrepareOptions* options_;
  Strings outputs_;
  Origins origins_;
  Strings named_;
  Strings fixed_;
  bool traced_;
  Strings live_;
  WeightValues weights_;
  Uses uses_;
  std::optional<Layers> layers_;                           // where the options name some
  std::map<const InitializerDef*, std::string> constant_;  // of those that a derivative reaches
  ParameterChoice choice_;
};

}  // namespace

ParameterChoice choose_parameters(const GraphDef& graph, const Strings& outputs,
                                  const PrepareOptions& options, std::string_view producer) {
  return Chooser(graph, outputs, options, producer).run();
}

}  // namespace ondine::graph
