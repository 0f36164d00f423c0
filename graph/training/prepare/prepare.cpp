#include "graph/training/prepare/prepare.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/contract/opsets.h"
#include "graph/training/inference_mode.h"
#include "graph/training/prepare/head.h"
#include "graph/training/prepare/held.h"
#include "graph/training/prepare/initialize.h"
#include "graph/training/prepare/linear_models.h"
#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/losses/loss_model.h"
#include "graph/training/prepare/losses/losses.h"
#include "graph/training/prepare/lost.h"
#include "graph/training/prepare/paths.h"
#include "graph/training/prepare/training_mode.h"
#include "graph/training/prepare/updates/loss_scale.h"
#include "graph/training/prepare/updates/updates.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_training_ir = 7;

// 0 when the domain is not imported.
std::int64_t imported(const ModelDef& model, std::string_view domain) {
  return Opsets(model.opsets).version(domain).value_or(0);
}

template <class Settings, class Require>
void check_optimizer(const Settings& optimizer, const Require& require) {
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto fraction = [](float value) { return value >= 0 && value < 1; };
  require(finite(optimizer.learning_rate), "the learning rate must be a number",
          optimizer.learning_rate);
  require(finite(optimizer.weight_decay) && optimizer.weight_decay >= 0,
          "the weight decay must not be negative", optimizer.weight_decay);
  if constexpr (requires { optimizer.momentum; }) {
    require(fraction(optimizer.momentum), "the momentum must be in [0, 1)", optimizer.momentum);
  }
  if constexpr (requires { optimizer.beta1; }) {
    require(fraction(optimizer.beta1), "beta1 must be in [0, 1)", optimizer.beta1);
    require(fraction(optimizer.beta2), "beta2 must be in [0, 1)", optimizer.beta2);
  }
}

void check_options(const PrepareOptions& options) {
  const auto require = [](bool holds, const char* what, double value) {
    if (!holds) fail(ErrorCode::mismatch, what, ", found ", value);
  };
  check_loss_options(options);
  check_loss_scale(options.loss_scale);
  require(!options.clip_norm || *options.clip_norm > 0, "the clipping norm must be positive",
          options.clip_norm.value_or(1));
  require(!options.clip_value || *options.clip_value > 0, "the clipping value must be positive",
          options.clip_value.value_or(1));
  require(options.accumulate != 0, "gradients must be accumulated over at least 1 batch", 0);
  for (const RateGroup& group : options.rate_groups) {
    require(std::isfinite(group.scale) && group.scale > 0,
            "the factor of a learning rate must be positive", group.scale);
  }
  if (options.average) {
    require(options.average->decay >= 0 && options.average->decay <= 1,
            "the decay of averages must be in [0, 1]", options.average->decay);
  }
  std::visit([&](const auto& optimizer) { check_optimizer(optimizer, require); },
             options.optimizer);
}

void check_model(const ModelDef& model, std::int64_t opset) {
  if (!model.training.empty()) {
    fail(ErrorCode::mismatch, "the model already has training information (", model.training.size(),
         "); export it for inference first");
  }
  if (opset < 7) {
    fail(ErrorCode::unsupported, "preparing needs ai.onnx 7 or newer, the model imports ai.onnx ",
         opset);
  }
  const std::int64_t training = imported(model, training_domain);
  if (training > 1) {
    fail(ErrorCode::unsupported, training_domain, " ", training, ", prepare writes version 1");
  }
}

void remove_property(ModelDef& model, const std::string& name) {
  std::erase_if(model.metadata, [&](const auto& one) { return one.first == name; });
}

void set_property(ModelDef& model, const std::string& name, std::string text) {
  remove_property(model, name);
  model.metadata.emplace_back(name, std::move(text));
}

// For evaluation, which compares the output with labels.
void record_class_axis(ModelDef& model, const Prediction& prediction,
                       const PrepareOptions& options) {
  remove_property(model, "ondine.class_axis");
  remove_property(model, "ondine.class_axis_of");
  const bool has_classes = options.loss == Loss::softmax_cross_entropy ||
                           options.loss == Loss::nll || options.loss == Loss::focal;
  if (!has_classes || options.soft_labels || has_loss_model(options)) return;
  set_property(model, "ondine.class_axis", std::to_string(prediction.class_axis));
  set_property(model, "ondine.class_axis_of", prediction.asked);
}

// Inputs `first` to `last` of normalizations: 3 and 4 are the running statistics.
Strings normalization_inputs(const GraphDef& graph, std::size_t first, std::size_t last) {
  Strings result;
  for (const NodeDef& node : graph.nodes) {
    const bool normalizes =
        node.domain.empty() && one_of(node.op, {"BatchNormalization", "InstanceNormalization",
                                                "LayerNormalization", "GroupNormalization"});
    for (std::size_t i = first; normalizes && i <= last && i < node.inputs.size(); ++i) {
      result.insert(node.inputs[i]);
    }
  }
  return result;
}

bool is_filled_with(const Tensor& tensor, double value) {
  const auto values = is_differentiable(tensor.dtype()) ? to_doubles(tensor) : std::nullopt;
  return values &&
         std::all_of(values->begin(), values->end(), [&](double one) { return one == value; });
}

// Which tensors of Constant nodes and subgraphs may be parameters. Exporters write ones and zeros
// for the scale and bias that a normalization does not have.
class HeldChoice {
 public:
  HeldChoice(const GraphDef& graph, const Strings& read, const PrepareOptions& options)
      : options_(&options),
        live_(differentiable_values(graph, read)),
        affine_(normalization_inputs(graph, 1, 2)) {
    if (options.training_mode) statistics_ = normalization_inputs(graph, 3, 4);
  }

  bool operator()(const std::string& name, const Tensor& held) const {
    if (statistics_.contains(name)) return true;
    if (!live_.contains(name)) return false;
    if (std::find(options_->train.begin(), options_->train.end(), name) != options_->train.end()) {
      return true;
    }
    if (held.shape().empty()) return false;
    return !affine_.contains(name) || !(is_filled_with(held, 0) || is_filled_with(held, 1));
  }
  bool is_statistic(const std::string& name) const { return statistics_.contains(name); }

 private:
  const PrepareOptions* options_;
  Strings live_;
  Strings affine_;
  Strings statistics_;
};

// Chooses parameters among initializers and what Constant nodes and subgraphs hold, and makes
// initializers of the latter where they are trained. Those that are not are in `lifted`.
ParameterChoice choose_and_lift(ModelDef& model, GraphDef& lifted, Names& names,
                                const Strings& read, const PrepareOptions& options) {
  const HeldChoice may_lift(model.graph, read, options);
  HeldWeights held = find_held_weights(model.graph, names, may_lift);
  lifted = model.graph;
  lift_weights(lifted, held);
  ParameterChoice choice = choose_parameters(lifted, read, options, model.producer_name);
  std::erase_if(held, [&](const auto& one) {
    return !choice.trains(one.second) && !may_lift.is_statistic(one.second);
  });
  lift_weights(model.graph, held);
  std::unordered_map<std::string_view, const InitializerDef*> initializers;
  for (const InitializerDef& one : model.graph.initializers) initializers.emplace(one.name, &one);
  for (const InitializerDef*& one : choice.trained) one = initializers.at(one->name);
  return choice;
}

// What the loss reads of the main graph.
struct LossInputs {
  Prediction prediction;
  std::optional<MatchedLoss> matched;  // of a loss model

  std::vector<std::string> values() const {
    return matched ? matched->reads : std::vector<std::string>{prediction.value};
  }
};

LossInputs find_loss_inputs(ModelDef& model, Names& names, const ValueTypes& types,
                            const PrepareOptions& options, const ModelDef* loss_model,
                            std::size_t class_axis) {
  LossInputs found;
  if (loss_model == nullptr) {
    found.prediction =
        find_prediction(model.graph, names, imported(model, ""), types, options, class_axis);
    return found;
  }
  found.matched = match_loss_model(*loss_model, model.graph, types);
  found.prediction.value = found.matched->reads.front();
  found.prediction.dtype = found.matched->dtype;
  found.prediction.reason = found.matched->reason;
  return found;
}

LossValues write_chosen_loss(GraphWriter& writer, ModelDef& model, const LossInputs& inputs,
                             const std::vector<std::string>& values, const PrepareOptions& options,
                             const ModelDef* loss_model) {
  if (inputs.matched) return write_loss_model(writer, model, *loss_model, *inputs.matched, values);
  Prediction prediction = inputs.prediction;
  prediction.value = values.front();
  write_moves(writer, prediction);
  if (is_low_precision(prediction.dtype)) {
    prediction.dtype = DType::float32;
    prediction.value = writer.cast(prediction.value, prediction.dtype, "loss.float");
  }
  return write_loss(writer, prediction, options);
}

// Running statistics keep their values where the step does; their outputs are renamed.
void keep_statistics(const LossScaler& scaler, const GraphDef& main, Properties& statistics,
                     std::vector<ValueDef>& outputs) {
  if (!scaler.is_active()) return;
  for (auto& [statistic, next] : statistics) {
    const std::string kept =
        scaler.kept(next, statistic, find_initializer(main, statistic)->value, statistic + ".next");
    const auto output = std::find_if(outputs.begin(), outputs.end(),
                                     [&](const ValueDef& one) { return one.name == next; });
    output->name = kept;
    next = kept;
  }
}

void record_updates(ModelDef& model, Updates& updates, const std::vector<std::string>& trained,
                    const PrepareOptions& options) {
  set_property(model, "ondine.learning_rate", updates.optimizer.rate);
  for (const char* name : {"ondine.accumulate", "ondine.averaged", "ondine.averages"}) {
    remove_property(model, name);
  }
  for (auto& [name, text] : update_properties(updates, trained, options)) {
    set_property(model, name, std::move(text));
  }
  for (InitializerDef& one : updates.state) model.graph.initializers.push_back(std::move(one));
}

// The input that evaluation compares with; "" where there is none.
std::string label_name(const LossInputs& inputs, const PrepareOptions& options) {
  if (!inputs.matched) return options.label;
  const auto& labels = inputs.matched->labels;
  const bool has_label = std::any_of(
      labels.begin(), labels.end(), [&](const ValueDef& one) { return one.name == options.label; });
  if (has_label) return options.label;
  return labels.empty() ? std::string() : labels.front().name;
}

}  // namespace

PrepareReport prepare(ModelDef& given, const PrepareOptions& asked, const ValueTypes& types,
                      const ModelDef* loss_model, const OptimizerStart& start) {
  const std::int64_t opset = imported(given, "");
  check_options(asked);
  check_model(given, opset);
  ModelDef model = given;
  PrepareOptions options = asked;
  {
    Names names(model);
    expand_linear_models(model.graph, names);
  }
  PlacedHead head;
  if (asked.head) {
    head = put_head(model, asked, types);
    options.output = head.output;
  }
  if (options.untie) untie_parameters(model.graph);
  set_inference_mode(model.graph);
  Names names(model);
  const LossInputs inputs =
      find_loss_inputs(model, names, types, options, loss_model, head.class_axis);
  const Prediction& found = inputs.prediction;
  std::vector<std::string> values = inputs.values();
  GraphDef lifted;
  const ParameterChoice parameters =
      choose_and_lift(model, lifted, names, Strings(values.begin(), values.end()), options);

  TrainingInfoDef info;
  GraphDef& algorithm = info.algorithm.emplace();
  algorithm.name = names.fresh("training");
  GraphWriter writer(algorithm, names, opset);
  Properties statistics;
  if (options.training_mode) {
    values = write_training_copy(writer, model, values, found.dtype, parameters, statistics);
  }
  std::vector<ValueDef> statistic_outputs;
  std::swap(statistic_outputs, algorithm.outputs);
  const LossValues loss = write_chosen_loss(writer, model, inputs, values, options, loss_model);
  const ChosenLossScale scale = choose_loss_scale(options.loss_scale, model.graph, types,
                                                  inputs.values(), parameters.trained);
  LossScaler scaler(writer, scale.scale, info.update_binding);
  Updates updates = write_updates(writer, model.graph, loss, parameters.trained, options, scaler,
                                  info.update_binding, start);
  const Masters& masters = updates.optimizer.masters;
  keep_statistics(scaler, model.graph, statistics, statistic_outputs);
  algorithm.outputs.insert(algorithm.outputs.end(), statistic_outputs.begin(),
                           statistic_outputs.end());
  info.update_binding.insert(info.update_binding.end(), statistics.begin(), statistics.end());

  GraphDef initialization;
  initialization.name = names.fresh("initialization");
  GraphWriter initialize(initialization, names, opset);
  const ChosenInit init = options.init == WeightInit::automatic
                              ? choose_init(model.graph, parameters.trained, head.weight)
                              : ChosenInit{options.init, {}};
  write_initialization(initialize, model.graph, parameters.trained, init.init, masters,
                       info.initialization_binding, head.weight);
  if (!initialization.nodes.empty()) info.initialization = std::move(initialization);

  PrepareReport report;
  report.loss = loss.loss;
  for (const InitializerDef* one : parameters.trained) report.trained.push_back(one->name);
  for (const InitializerDef* one : parameters.frozen) report.frozen.push_back(one->name);
  report.parameters = parameters.table;
  report.prediction = found.value;
  report.prediction_reason = found.reason;
  for (const auto& [parameter, master] : masters) report.masters.push_back(master);
  report.loss_scale = scale.scale;
  report.loss_scale_reason = scale.reason;
  report.notes = lost_parameters(given);
  report.head = head.output;
  report.cut = head.cut;
  report.init = init.init;
  report.init_reason = init.reason;

  model.ir_version = std::max(model.ir_version, first_training_ir);
  if (imported(model, training_domain) == 0) model.opsets.push_back({training_domain, 1});
  model.training.push_back(std::move(info));
  if (updates.apply) model.training.push_back(std::move(*updates.apply));
  set_property(model, "ondine.loss", name_of(options));
  set_property(model, "ondine.prediction", found.value);
  set_property(model, "ondine.label", label_name(inputs, options));
  record_class_axis(model, found, options);
  record_updates(model, updates, report.trained, options);
  given = std::move(model);
  return report;
}

}  // namespace ondine::graph
