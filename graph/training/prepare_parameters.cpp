#include "graph/training/prepare_parameters.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/message.h"
#include "graph/training/prepare_names.h"
#include "graph/training/prepare_origin.h"
#include "graph/training/prepare_paths.h"

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

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_glob(pattern, name); });
}

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

Producers producers_of(const GraphDef& graph) {
  Producers result;
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty()) result[output] = &node;
    }
  }
  return result;
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

ParameterChoice choose_parameters(const GraphDef& graph, const std::string& output,
                                  const PrepareOptions& options) {
  const Strings live = differentiable_values(graph, output);
  const Strings weights = weight_values(graph, output);
  std::vector<const InitializerDef*> parameters;
  for (const InitializerDef& one : graph.initializers) {
    if (is_differentiable(one.value.dtype()) && live.count(one.name)) parameters.push_back(&one);
  }
  require_matches(options.train, "train", parameters);
  require_matches(options.freeze, "freeze", parameters);

  const Layers layers(graph, live);
  const Origins origins = origins_of(graph);
  const auto learned = [&](const InitializerDef& one) {
    return origins.parameters.contains(one.name) ||
           (!one.value.shape().empty() && weights.contains(one.name) &&
            !origins.constants.contains(one.name));
  };
  ParameterChoice choice;
  for (const InitializerDef* one : parameters) {
    bool trained = options.train.empty() ? learned(*one) : matches_any(options.train, one->name);
    if (matches_any(options.freeze, one->name)) trained = false;
    if (options.last_layers && layers.number_of(one->name) >= *options.last_layers) trained = false;
    (trained ? choice.trained : choice.frozen).push_back(one);
    if (!trained && !learned(*one)) choice.constants.push_back(one);
  }
  if (choice.trained.empty()) {
    fail(ErrorCode::mismatch, "nothing to train: ",
         parameters.empty() ? "no floating point initializer reaches output "
                            : "constants aside, the options freeze every parameter of output ",
         quoted(output));
  }
  return choice;
}

}  // namespace ondine::graph
