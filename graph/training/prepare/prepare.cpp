#include "graph/training/prepare/prepare.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/message.h"
#include "core/stop.h"
#include "graph/contract/opsets.h"
#include "graph/record/training_entries.h"
#include "graph/training/adapters/attach.h"
#include "graph/training/adapters/channels.h"
#include "graph/training/adapters/check_adapters.h"
#include "graph/training/inference_mode.h"
#include "graph/training/prepare/exporter/lost.h"
#include "graph/training/prepare/exporter/repeated.h"
#include "graph/training/prepare/exporter/separate.h"
#include "graph/training/prepare/exporter/ties.h"
#include "graph/training/prepare/exporter/zero_biases.h"
#include "graph/training/prepare/head/head.h"
#include "graph/training/prepare/head/linear_models.h"
#include "graph/training/prepare/losses/chosen_loss.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/packing/packing.h"
#include "graph/training/prepare/parameters/choose.h"
#include "graph/training/prepare/parameters/initialize.h"
#include "graph/training/prepare/parameters/initializers.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/prediction/record_prediction.h"
#include "graph/training/prepare/privacy/private_gradients.h"
#include "graph/training/prepare/training_mode.h"
#include "graph/training/prepare/updates/check_settings.h"
#include "graph/training/prepare/updates/directions.h"
#include "graph/training/prepare/updates/loss_scale.h"
#include "graph/training/prepare/updates/schedule.h"
#include "graph/training/prepare/updates/updates.h"
#include "graph/training/quantize/frozen_weights.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_training_ir = 7;

// 0 when the domain is not imported.
std::int64_t imported(const ModelDef& model, std::string_view domain) {
  return Opsets(model.opsets).version(domain).value_or(0);
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

void check_quantization(const PrepareOptions& options) {
  if (!options.qat) return;
  if (*options.qat != DType::int8 && *options.qat != DType::uint8)
    fail(ErrorCode::mismatch, "qat is ", *options.qat, ", needed: int8 or uint8");
  if (!options.training_mode || options.quantize_frozen) {
    fail(ErrorCode::mismatch, "quantization-aware training needs ",
         options.training_mode ? "weights that quantize_frozen leaves alone" : "training mode");
  }
}

void remove_property(ModelDef& model, const std::string& name) {
  std::erase_if(model.metadata, [&](const auto& one) { return one.first == name; });
}

void set_property(ModelDef& model, const std::string& name, std::string text) {
  remove_property(model, name);
  model.metadata.emplace_back(name, std::move(text));
}

// Running statistics keep their values where the step does; their outputs are renamed.
void keep_statistics(const LossScaler& scaler, const GraphDef& main, Properties& statistics,
                     std::vector<ValueDef>& outputs) {
  if (!scaler.is_active()) return;
  const InitializerIndex initializers(main);
  std::unordered_map<std::string, ValueDef*> named;
  for (ValueDef& one : outputs) named.emplace(one.name, &one);
  for (auto& [statistic, next] : statistics) {
    const Tensor& value = initializers.find(statistic)->value;
    const std::string kept = scaler.kept(next, statistic, value, statistic + ".next");
    named.at(next)->name = kept;
    next = kept;
  }
}

// The outputs that say what means are over.
void record_weights(ModelDef& model, const LossValues& values) {
  std::string text;
  const auto add = [&](const std::string& metric, const std::string& weight) {
    if (weight.empty()) return;
    text += (text.empty() ? "" : "\n") + metric + "=" + weight;
  };
  add(values.loss, values.loss_weight);
  add(values.accuracy, values.accuracy_weight);
  if (!text.empty()) set_property(model, entry::metric_weights, std::move(text));
}

void record_updates(ModelDef& model, Updates& updates, const std::vector<std::string>& trained,
                    const PrepareOptions& options) {
  set_property(model, entry::learning_rate, updates.optimizer.rate);
  for (auto& [name, text] : update_properties(updates, trained, options)) {
    set_property(model, name, std::move(text));
  }
  for (InitializerDef& one : updates.state) model.graph.initializers.push_back(std::move(one));
}

struct Network {
  PrepareOptions options;  // those of the caller, and the output of a new head
  PlacedHead head;
  QuantizedNetwork quantized;
  std::vector<std::string> notes;
  std::vector<std::string> restored;  // parameters, and values that were computed from one
  bool separated = false;             // whether any that were merged are apart
  Fresh fresh = {};                   // what initialization makes of parameters that prepare added
  std::vector<TrainedChannels> channels = {};
};

// Added parameters train besides those that take the place of the other parameters.
void train_added(Network& network) {
  std::vector<std::string>& train = network.options.train;
  if (!network.head.bias.empty()) train.push_back(network.head.bias);
  for (const auto& [name, rule] : network.fresh) train.push_back(name);
  network.options.init = WeightInit::keep;
}

void add_adapters(ModelDef& model, const ValueTypes& types, const ModelDef* loss_model,
                  Network& network) {
  const std::vector<std::string> read =
      loss_model != nullptr ? match_loss_model(*loss_model, model.graph, types).reads
                            : std::vector{asked_value(model.graph, types, network.options.output)};
  AttachedAdapters attached =
      attach_adapters(model, network.options, network.channels, types, read);
  network.fresh.merge(attached.rules);
  network.notes.push_back(std::move(attached.note));
}

Separation separation_of(const PrepareOptions& options) {
  if (options.tie) return Separation::none;
  return options.untie ? Separation::all : Separation::merged;
}

// Undoes what exporters do to parameters.
void repair_export(ModelDef& model, const PrepareOptions& asked, Network& network) {
  network.notes = separate_traced(model, separation_of(asked));
  network.separated = !network.notes.empty();
  for (std::string& note : separate_merged(model, separation_of(asked))) {
    network.notes.push_back(std::move(note));
  }
  RestoredBiases biases = restore_zero_biases(model);
  RepeatedParameters repeated = store_repeated_once(model);
  for (std::vector<std::string>* notes : {&biases.notes, &repeated.notes}) {
    std::move(notes->begin(), notes->end(), std::back_inserter(network.notes));
  }
  network.restored = std::move(biases.names);
  std::move(repeated.values.begin(), repeated.values.end(), std::back_inserter(network.restored));
  if (asked.quantize_frozen) return;
  for (std::string& note : tie_copies(model.graph)) network.notes.push_back(std::move(note));
}

// Brings the main graph into the form that is trained: without classical operators, with the new
// head, in inference mode.
Network adapt_network(ModelDef& model, const PrepareOptions& asked, const ValueTypes& types,
                      const ModelDef* loss_model, const std::vector<std::string>& fresh) {
  Network network{asked, {}, {}, {}, {}, false};
  for (const std::string& name : fresh) network.fresh.emplace(name, DrawnByUse{});
  const auto is_linear_model = [](const NodeDef& node) {
    return one_of(node.op, {"LinearRegressor", "LinearClassifier"});
  };
  if (std::any_of(model.graph.nodes.begin(), model.graph.nodes.end(), is_linear_model)) {
    Names names(model);
    expand_linear_models(model.graph, names);
  }
  if (asked.head) {
    network.head = put_head(model, asked, types);
    network.options.output = network.head.output;
    network.fresh.emplace(network.head.weight, DrawnByUse{});
    for (const std::string& name : network.head.constants) {
      network.options.freeze.push_back(name);
    }
  }
  check_stop();
  repair_export(model, asked, network);
  check_stop();
  set_inference_mode(model.graph);
  network.channels = take_channels(model.graph, network.options);
  const bool adds = has_adapters(asked) || !network.channels.empty();
  if (adds) add_adapters(model, types, loss_model, network);
  if (adds || asked.only_biases) train_added(network);
  if (asked.qat) network.quantized = insert_quantization(model, *asked.qat);
  return network;
}

// A new head may have the names of values that it replaced.
ValueTypes without(ValueTypes types, const std::vector<std::string>& values) {
  for (const std::string& name : values) types.erase(name);
  return types;
}

struct WrittenAlgorithm {
  LossValues loss;
  ChosenLossScale scale;
  Updates updates;
  ParameterRoles roles;
};

// The algorithm of `info`: a copy of the network in training mode where that differs, loss,
// derivatives, updates.
WrittenAlgorithm write_algorithm(ModelDef& model, TrainingInfoDef& info, Names& names,
                                 const LossInputs& inputs, const ParameterChoice& parameters,
                                 const PrepareOptions& options, const ValueTypes& types,
                                 const ModelDef* loss_model, const OptimizerStart& start,
                                 const QuantizedNetwork& quantized, const TypesOf& types_of) {
  GraphDef& algorithm = info.algorithm.emplace();
  algorithm.name = names.fresh("training");
  GraphWriter writer(algorithm, names, imported(model, ""));
  std::vector<std::string> values = inputs.values();
  Properties statistics;
  OptimizerPlan plan{choose_roles(model, parameters.trained, values, options), {}};
  if (const auto* settings = std::get_if<ScheduleFree>(&options.optimizer)) {
    plan.points = write_points(writer, parameters.trained, *settings);
  }
  const auto* mezo = std::get_if<Mezo>(&options.optimizer);
  if (mezo != nullptr) plan.points = write_directions(writer, parameters.trained, *mezo);
  Renaming instead = plan.points.values;
  std::optional<PackedNetwork> packed;
  if (options.packing) packed = write_packed(writer, model, types, instead);
  const ModelDef& network = packed ? packed->model : model;
  if (options.training_mode && mezo == nullptr) {
    values = write_training_copy(writer, network, values, inputs.prediction.dtype, parameters,
                                 quantized, statistics, instead);
  } else if (!instead.empty()) {
    values = write_copy(writer, network, values, instead);
  }
  std::vector<ValueDef> statistic_outputs;
  std::swap(statistic_outputs, algorithm.outputs);
  WrittenAlgorithm written;
  written.loss = write_chosen_loss(writer, model, inputs, values, options, loss_model);
  written.scale = mezo != nullptr ? ChosenLossScale{NoLossScale{}, "no derivatives are computed"}
                                  : choose_loss_scale(options.loss_scale, model.graph, types,
                                                      inputs.values(), parameters.trained);
  LossScaler scaler(writer, written.scale.scale, info.update_binding);
  if (options.privacy && scaler.is_active()) {
    fail(ErrorCode::unsupported,
         "training with privacy does not scale the loss, which float16 "
         "values need");
  }
  written.updates =
      write_updates(writer, model, written.loss, {&values, &types_of}, parameters.trained, options,
                    scaler, info.update_binding, start, plan);
  move_to_readers(algorithm, plan.points.nodes);
  written.roles = std::move(plan.roles);
  keep_statistics(scaler, model.graph, statistics, statistic_outputs);
  algorithm.outputs.insert(algorithm.outputs.end(), statistic_outputs.begin(),
                           statistic_outputs.end());
  if (written.updates.apply) {
    GraphWriter apply(*written.updates.apply->algorithm, names, writer.opset());
    write_weight_scales(apply, model.graph, quantized, written.updates.apply->update_binding);
  } else {
    write_weight_scales(writer, model.graph, quantized, info.update_binding);
  }
  info.update_binding.insert(info.update_binding.end(), statistics.begin(), statistics.end());
  return written;
}

ChosenInit write_initial_values(const ModelDef& model, TrainingInfoDef& info, Names& names,
                                const ParameterChoice& parameters, const Masters& masters,
                                const Fresh& fresh, WeightInit asked,
                                const QuantizedNetwork& quantized) {
  GraphDef initialization;
  initialization.name = names.fresh("initialization");
  GraphWriter writer(initialization, names, imported(model, ""));
  const ChosenInit init = asked == WeightInit::automatic ? choose_init(model, parameters, fresh)
                                                         : ChosenInit{asked, {}};
  write_initialization(writer, model, parameters.trained, init.init, masters,
                       info.initialization_binding, fresh);
  write_weight_scales(writer, model.graph, quantized, info.initialization_binding);
  if (!initialization.nodes.empty()) info.initialization = std::move(initialization);
  return init;
}

PrepareReport report_of(const WrittenAlgorithm& written, const ParameterChoice& parameters,
                        const Prediction& found, const PlacedHead& head, const ChosenInit& init,
                        const PrepareOptions& options) {
  PrepareReport report;
  report.loss = written.loss.loss;
  for (const InitializerDef* one : parameters.trained) report.trained.push_back(one->name);
  for (const InitializerDef* one : parameters.frozen) report.frozen.push_back(one->name);
  report.parameters = parameters.table;
  if (!parameters.guesses.empty()) {
    report.warnings.push_back("taken for constants by their elements or names, and frozen: " +
                              listed(parameters.guesses) +
                              "; parameters among them train if train (--train) names them, "
                              "freeze (--freeze) ends this warning");
  }
  report.prediction = found.value;
  report.prediction_reason = found.reason;
  for (const auto& [parameter, master] : written.updates.optimizer.masters) {
    report.masters.push_back(master);
  }
  report.loss_scale = written.scale.scale;
  report.loss_scale_reason = written.scale.reason;
  report.weight_decay = written.roles.decay_note;
  report.weight_decay_reason = written.roles.decay_reason;
  report.rules = written.roles.rules_note;
  if (has_schedule(options)) report.schedule = describe(*options.schedule);
  report.head = head.output;
  report.cut = head.cut;
  report.init = init.init;
  report.init_reason = init.reason;
  return report;
}

// Records facts about the training in the model.
void record_training(ModelDef& model, const LossInputs& inputs, WrittenAlgorithm& written,
                     const std::vector<std::string>& trained, const PrepareOptions& options) {
  model.ir_version = std::max(model.ir_version, first_training_ir);
  if (imported(model, training_domain) == 0) model.opsets.push_back({training_domain, 1});
  Updates& updates = written.updates;
  if (updates.apply) model.training.push_back(std::move(*updates.apply));
  record_prediction(model, inputs, options);
  record_updates(model, updates, trained, options);
  record_weights(model, written.loss);
  if (options.qat) set_property(model, entry::qat, std::string(to_string(*options.qat)));
}

}  // namespace

PrepareReport prepare(ModelDef& given, const PrepareOptions& asked, const ValueTypes& given_types,
                      const ModelDef* loss_model, const OptimizerStart& start,
                      const std::vector<std::string>& fresh, const TypesOf& types_of) {
  check_loss_options(asked);
  check_privacy(asked);
  check_update_settings(asked);
  check_model(given, imported(given, ""));
  check_quantization(asked);
  check_adapters(asked);
  if (asked.tie && asked.untie) {
    fail(ErrorCode::mismatch, "tie and untie exclude each other (--tie, --untie)");
  }
  if (asked.quantize_frozen) check_frozen_format(*asked.quantize_frozen, imported(given, ""));
  ModelDef model = given;
  std::optional<std::string> raised;
  if (asked.quantize_frozen) raised = raise_for_frozen(model, *asked.quantize_frozen);
  const auto [options, head, quantized, notes, restored, separated, added, channels] =
      adapt_network(model, asked, given_types, loss_model, fresh);
  const ValueTypes types = without(given_types, head.values);
  Names names(model);
  const LossInputs inputs =
      find_loss_inputs(model, names, types, options, loss_model, head.class_axis);
  const std::vector<std::string> values = inputs.values();
  check_stop();
  GraphDef lifted;
  const ParameterChoice parameters =
      choose_and_lift(model, lifted, names, Strings(values.begin(), values.end()), options);

  check_stop();
  TrainingInfoDef info;
  WrittenAlgorithm written = write_algorithm(model, info, names, inputs, parameters, options, types,
                                             loss_model, start, quantized, types_of);
  const ChosenInit init =
      write_initial_values(model, info, names, parameters, written.updates.optimizer.masters, added,
                           options.init, quantized);
  PrepareReport report = report_of(written, parameters, inputs.prediction, head, init, options);
  if (has_adapters(asked)) explain_adapters(report, asked, added);
  explain_channels(report, channels);
  report.quantized_layers = quantized.layers;
  if (options.quantize_frozen) {
    report.quantized = quantize_frozen(model, report.trained, *options.quantize_frozen);
  }
  check_stop();
  report.notes = notes;
  if (raised) report.notes.push_back(*std::move(raised));
  if (std::string note = accuracy_note(inputs, options); !note.empty())
    report.notes.push_back(std::move(note));
  if (separated) separate_traced(given, separation_of(asked));
  for (std::string& note : lost_parameters(given, restored))
    report.notes.push_back(std::move(note));
  model.training.push_back(std::move(info));
  record_training(model, inputs, written, report.trained, options);
  given = std::move(model);
  return report;
}

}  // namespace ondine::graph
