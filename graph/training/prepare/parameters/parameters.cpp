#include "graph/training/prepare/parameters/parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/message.h"
#include "core/stop.h"
#include "core/to_doubles.h"
#include "graph/training/adapters/biases.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/constants.h"
#include "graph/training/prepare/parameters/fixed.h"
#include "graph/training/prepare/parameters/held.h"
#include "graph/training/prepare/parameters/layers.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

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
    checkpoint(64);
    if (initializer.name == name) return &initializer;
  }
  return nullptr;
}

namespace {

// Why a tensor is no parameter; no text for a parameter.
struct Reason {
  std::string text;
  bool is_guess = false;  // told by elements or a name, which a parameter may have too

  explicit operator bool() const noexcept { return !text.empty(); }
};

Reason certain(std::string text) { return {std::move(text), false}; }

bool is_filled_with(const Tensor& tensor, double value) {
  return tensor.size() > 0 && all_equal(tensor) &&
         element_reader(tensor.dtype())(tensor.data(), 0) == value;
}

class Chooser {
 public:
  Chooser(const GraphDef& graph, const Strings& outputs, const PrepareOptions& options,
          std::string_view producer)
      : graph_(&graph),
        options_(&options),
        outputs_(outputs),
        origins_(origins_of(graph)),
        operands_(graph),
        live_(differentiable_values(graph, outputs)) {
    const bool is_torch = producer == "pytorch";
    traced_ = is_torch && names_its_parameters(graph);
    if (is_torch) fixed_ = named_normalizations(graph);
    if (is_torch) folded_ = folded_normalizations(graph);
    named_ = named_scalars(producer);
    weights_ = weight_values(graph, outputs, named_);
    if (options.last_layers) layers_.emplace(graph, live_);
  }

  ParameterChoice run() {
    for (const InitializerDef& one : graph_->initializers) {
      if (is_differentiable(one.value.dtype()) && live_.contains(one.name)) {
        candidates_.push_back(&one);
      }
    }
    require_matches(options_->train, "train", candidates_);
    require_matches(options_->freeze, "freeze", candidates_);
    for (const InitializerDef* one : candidates_) {
      checkpoint(8 * one->value.size());
      constant_[one] = why_constant(*one);
    }
    for (const std::string& pattern : options_->train) {
      selects_constants_.push_back(
          std::none_of(constant_.begin(), constant_.end(), [&](const auto& other) {
            return !other.second && matches_glob(pattern, other.first->name);
          }));
    }
    for (const InitializerDef& one : graph_->initializers) {
      if (is_differentiable(one.value.dtype())) choose(one);
    }
    if (choice_.trained.empty()) refuse();
    return std::move(choice_);
  }

 private:
  [[noreturn]] void refuse() const {
    const std::string output = quoted(*outputs_.begin());
    if (candidates_.empty()) {
      fail(ErrorCode::mismatch, "nothing to train: no floating point initializer reaches output ",
           output);
    }
    std::vector<std::string> constants;
    for (const InitializerDef* one : candidates_) {
      const Reason& reason = constant_.at(one);
      if (reason) constants.push_back(quoted(one->name) + " (" + reason.text + ")");
    }
    if (constants.size() < candidates_.size()) {
      fail(ErrorCode::mismatch, "nothing to train: the options freeze every parameter of output ",
           output);
    }
    fail(ErrorCode::mismatch, "nothing to train: of output ", output,
         " everything is taken for a constant: ", listed(constants),
         "; name what is to be trained (train, --train)");
  }

  // Elements of one kind that the exporter calls parameters, but for those of its metadata. Where
  // no layer has parameters, as in y = w x + b, factors and terms are them.
  Strings named_scalars(std::string_view producer) const {
    Strings result;
    if (!origins_.parameters.empty()) return origins_.parameters;
    const bool has_layers =
        std::any_of(graph_->initializers.begin(), graph_->initializers.end(), [&](const auto& one) {
          return is_differentiable(one.value.dtype()) && live_.contains(one.name) &&
                 operands_.of(one.name, one.value) == LayerUse::operand;
        });
    for (const InitializerDef& one : graph_->initializers) {
      if (one.value.size() != 1 || !is_differentiable(one.value.dtype())) continue;
      const bool is_coefficient = !has_layers && !is_number_name(one.name) &&
                                  !was_constant_node(one) &&
                                  is_read_by_all(one.name, {"Add", "Mul", "Sub"});
      if (is_coefficient || is_parameter_name(one.name, producer)) result.insert(one.name);
    }
    return result;
  }

  bool is_read_by_all(const std::string& name, std::initializer_list<std::string_view> ops) const {
    const std::vector<Use> readers = operands_.uses().of(name);
    return std::all_of(readers.begin(), readers.end(), [&](const Use& use) {
      return use.node->domain.empty() && one_of(use.node->op, ops);
    });
  }

  Reason why_constant(const InitializerDef& one) const {
    Reason reason = reason_of(one);
    if (one.value.size() == 1 && is_number_name(one.name)) reason.is_guess = false;
    return reason;
  }

  // Told by metadata and by what nodes do with it, before its elements and its name.
  Reason reason_of(const InitializerDef& one) const {
    const bool is_recorded = origins_.parameters.contains(one.name);
    if (origins_.constants.contains(one.name)) {
      return certain("no parameter in the exporter's metadata");
    }
    if (is_preprocessing(one.name)) return certain("of the preprocessing that prepare wrote");
    const ConstantRole* role = role_of(one.name);
    if (role != nullptr && !role->is_guess && !is_recorded) return certain(role->text);
    const LayerUse use = operands_.of(one.name, one.value);
    if (std::string text = unfit_values(one.value, use); !text.empty()) {
      return {std::move(text), !is_mask_of_infinities(one.value)};
    }
    if (is_recorded) return {};
    if (role != nullptr) return {role->text, true};
    if (!weights_.values.contains(one.name)) {
      return certain("reaches the loss through constants alone");
    }
    return reason_by_form(one, use);
  }

  // Recognizes preprocessing by the names that preprocess.cpp gives constants and values.
  bool is_preprocessing(const std::string& name) const {
    constexpr std::string_view prefix = "preprocess.";
    if (!name.starts_with(prefix)) return false;
    const std::vector<Use> readers = operands_.uses().of(name);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const Use& use) {
      const std::string& output = use.node->outputs.at(0);
      return output.starts_with(prefix) || output.find("_preprocessed") != std::string::npos;
    });
  }

  // How nodes use it, or what is moved from it, as a constant; null for other tensors.
  const ConstantRole* role_of(const std::string& name) const {
    if (weights_.values.contains(name)) return nullptr;
    auto role = weights_.roles.find(name);
    const std::vector<Use> readers =
        role == weights_.roles.end() ? operands_.uses().of(name) : std::vector<Use>();
    for (const Use& use : readers) {
      if (role != weights_.roles.end()) break;
      role = weights_.roles.find(use.node->inputs[use.input]);
    }
    return role == weights_.roles.end() ? nullptr : &role->second;
  }

  Reason reason_by_form(const InitializerDef& one, LayerUse use) const {
    const bool is_bias =
        use == LayerUse::operand || (use == LayerUse::term && !is_number_name(one.name));
    if (one.value.shape().empty() && !is_bias && !named_.contains(one.name)) {
      return {"a scalar", true};
    }
    if (fixed_.contains(one.name)) return certain("of a normalization with fixed statistics");
    if (folded_.contains(one.name)) return {"of a normalization with fixed statistics", true};
    if (traced_ && is_traced_constant(one)) {
      return certain("in a Constant node, where PyTorch's exporter puts no parameters");
    }
    const DocumentUses& uses = operands_.uses();
    if (is_neutral_constant(one)) {
      return {"ones or zeros in a Constant node, as of a normalization without parameters", true};
    }
    if (is_frequencies(one.name, one.value, uses)) {
      return certain("a geometric series, as frequencies are, which Sin or Cos reads");
    }
    return {constant_reason(one.name, one.value, uses, use), true};
  }

  // Exporters write ones and zeros for the scale and bias that a normalization does not have.
  bool is_neutral_constant(const InitializerDef& one) const {
    if (!was_constant_node(one)) return false;
    if (!is_filled_with(one.value, 0) && !is_filled_with(one.value, 1)) return false;
    const std::vector<Use> readers = operands_.uses().of(one.name);
    return std::any_of(readers.begin(), readers.end(), [](const Use& use) {
      return use.node->domain.empty() && (use.input == 1 || use.input == 2) &&
             one_of(use.node->op, {"BatchNormalization", "InstanceNormalization",
                                   "LayerNormalization", "GroupNormalization"});
    });
  }

  // The pattern of `train` that selects a parameter. Wildcards select constants only where they
  // match nothing else.
  const std::string* training_pattern(const InitializerDef& one) const {
    for (std::size_t i = 0; i < options_->train.size(); ++i) {
      const std::string& pattern = options_->train[i];
      if (!matches_glob(pattern, one.name)) continue;
      if (pattern == one.name || !constant_.at(&one) || selects_constants_[i]) return &pattern;
    }
    return nullptr;
  }

  std::string reader_of(const InitializerDef& one) const {
    const std::vector<Use> readers = operands_.uses().of(one.name);
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
      if (info.trained) choice_.trained_names.insert(one.name);
      if (!info.trained && !constant->second) choice_.excluded_names.insert(one.name);
      if (!info.trained && constant->second.is_guess && is_asked_for(one)) {
        choice_.guesses.push_back(quoted(one.name) + " (" + constant->second.text + ")");
      }
    }
    choice_.table.push_back(std::move(info));
  }

  // Whether the options would train it if it were a parameter.
  bool is_asked_for(const InitializerDef& one) const {
    const auto matches = [&](const std::string& pattern) {
      return matches_glob(pattern, one.name);
    };
    return std::none_of(options_->freeze.begin(), options_->freeze.end(), matches) &&
           (options_->train.empty() ||
            std::any_of(options_->train.begin(), options_->train.end(), matches)) &&
           is_in_last_layers(one);
  }

  bool is_in_last_layers(const InitializerDef& one) const {
    return !layers_ || layers_->number_of(one.name) < *options_->last_layers;
  }

  std::pair<bool, std::string> decide(const InitializerDef& one, const Reason& constant) const {
    for (const std::string& pattern : options_->freeze) {
      if (matches_glob(pattern, one.name)) return {false, "freeze pattern " + quoted(pattern)};
    }
    const std::string* pattern = training_pattern(one);
    if (pattern == nullptr && constant) return {false, constant.text};
    if (pattern == nullptr && options_->only_biases) {
      const bool trains = is_bias(operands_, one);
      return {trains, trains ? why_parameter(one) : "no bias"};
    }
    if (pattern == nullptr && !options_->train.empty()) return {false, "matches no train pattern"};
    if (!is_in_last_layers(one)) {
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
    const std::string assumed = assumption(one.name, known, operands_.uses());
    if (!assumed.empty()) reason += "; " + assumed;
    return reason;
  }

  const GraphDef* graph_;
  const PrepareOptions* options_;
  Strings outputs_;
  Origins origins_;
  Operands operands_;
  Strings live_;
  bool traced_ = false;
  Strings fixed_;
  Strings folded_;
  Strings named_;
  WeightValues weights_;
  std::optional<Layers> layers_;                      // where the options name some
  std::vector<const InitializerDef*> candidates_;     // those that a derivative reaches
  std::map<const InitializerDef*, Reason> constant_;  // why each of these is no parameter
  std::vector<bool> selects_constants_;               // whether a train pattern matches these alone
  ParameterChoice choice_;
};

}  // namespace

ParameterChoice choose_parameters(const GraphDef& graph, const Strings& outputs,
                                  const PrepareOptions& options, std::string_view producer) {
  return Chooser(graph, outputs, options, producer).run();
}

}  // namespace ondine::graph
