#include "bindings/c/json.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace ondine::c {
namespace {

using Json = nlohmann::ordered_json;

// Bytes that are no UTF-8 become the sign for a character that could not be read.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Numbers that are not finite are texts: JSON has none.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(); }

Json metrics(const Metrics& metrics) {
  Json result = Json::object();
  for (const auto& [name, value] : metrics) result[name] = number(value);
  return result;
}

struct ToJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(double value) const { return number(value); }
  template <class Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

Json record(const FederatedRecord& record) {
  Json result = Json::object();
  for (const auto& [name, value] : record) result[name] = std::visit(ToJson(), value);
  return result;
}

Json dims(const Shape& shape) {
  Json result = Json::array();
  for (const std::int64_t dim : shape) result.push_back(dim);
  return result;
}

Json ports(const std::vector<PortInfo>& ports) {
  Json result = Json::array();
  for (const PortInfo& port : ports) {
    Json one{{"name", port.name}, {"type", port.type}, {"dtype", static_cast<int>(port.dtype)}};
    one["dims"] = port.dims ? Json(*port.dims) : Json();
    one["has_default"] = port.has_default;
    result.push_back(std::move(one));
  }
  return result;
}

const char* word(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::completed:
      return "completed";
    case StopReason::early_stopping:
      return "early_stopping";
    case StopReason::step_limit:
      return "step_limit";
    case StopReason::time_limit:
      return "time_limit";
    case StopReason::requested:
      break;
  }
  return "requested";
}

Json confusion(const std::optional<ConfusionMatrix>& matrix) {
  if (!matrix) return {};
  Json rows = Json::array();
  for (std::size_t label = 0; label < matrix->classes; ++label) {
    Json row = Json::array();
    for (std::size_t predicted = 0; predicted < matrix->classes; ++predicted) {
      row.push_back(matrix->count(label, predicted));
    }
    rows.push_back(std::move(row));
  }
  return {{"counts", std::move(rows)}, {"names", matrix->names}};
}

Json epoch(const EpochReport& report) {
  Json result{{"fold", report.fold},      {"epoch", report.epoch}, {"epochs", report.epochs},
              {"step", report.step},      {"steps", report.steps}, {"rows", report.rows},
              {"seconds", report.seconds}};
  result["learning_rate"] = number(report.learning_rate);
  result["training"] = metrics(report.training);
  result["validation"] = metrics(report.validation);
  result["best"] = report.best;
  result["confusion"] = confusion(report.confusion);
  result["data_wait"] = number(report.data_wait);
  if (report.epsilon) result["epsilon"] = number(report.epsilon);
  if (report.delta) result["delta"] = number(report.delta);
  return result;
}

Json prepared(const PrepareReport& report) {
  Json parameters = Json::array();
  for (const ParameterInfo& info : report.parameters) {
    parameters.push_back({{"name", info.name},
                          {"dims", dims(info.shape)},
                          {"trained", info.trained},
                          {"reason", info.reason}});
  }
  Json quantized = Json::array();
  for (const QuantizedWeight& one : report.quantized) {
    quantized.push_back({{"name", one.name},
                         {"bytes_before", one.bytes_before},
                         {"bytes_after", one.bytes_after},
                         {"error", number(one.error)}});
  }
  return {{"loss", report.loss},
          {"prediction", report.prediction},
          {"prediction_reason", report.prediction_reason},
          {"trained", report.trained},
          {"frozen", report.frozen},
          {"parameters", std::move(parameters)},
          {"masters", report.masters},
          {"loss_scale_reason", report.loss_scale_reason},
          {"head", report.head},
          {"cut", report.cut},
          {"init_reason", report.init_reason},
          {"quantized", std::move(quantized)},
          {"quantized_layers", report.quantized_layers},
          {"schedule", report.schedule},
          {"weight_decay", report.weight_decay},
          {"weight_decay_reason", report.weight_decay_reason},
          {"rules", report.rules},
          {"notes", report.notes},
          {"warnings", report.warnings}};
}

Json fitted(const FitReport& report) {
  Json result{{"reason", word(report.reason)},
              {"epochs", report.epochs},
              {"already_finished", report.already_finished},
              {"best_epoch", report.best_epoch},
              {"best_step", report.best_step}};
  result["best_value"] = number(report.best_value);
  result["restored_best"] = report.restored_best;
  result["last"] = report.last ? epoch(*report.last) : Json();
  result["record_note"] = report.record_note;
  result["folds"] = Json::array();
  for (const FoldReport& one : report.folds) {
    result["folds"].push_back({{"training_rows", one.training_rows},
                               {"rows", one.rows},
                               {"epochs", one.epochs},
                               {"best_epoch", one.best_epoch},
                               {"metrics", metrics(one.metrics)}});
  }
  result["fold_mean"] = metrics(report.fold_mean);
  result["fold_deviation"] = metrics(report.fold_deviation);
  return result;
}

Json evaluated(const Evaluation& evaluation) {
  Json worst = Json::array();
  for (const WrongPrediction& one : evaluation.worst) {
    worst.push_back({{"row", one.row},
                     {"label", one.label},
                     {"predicted", one.predicted},
                     {"label_probability", number(one.label_probability)},
                     {"predicted_probability", number(one.predicted_probability)}});
  }
  Json result{{"metrics", metrics(evaluation.metrics)}, {"rows", evaluation.rows}};
  result["note"] = evaluation.note;
  result["confusion"] = confusion(evaluation.confusion);
  result["worst"] = std::move(worst);
  return result;
}

const char* name_of(AdapterKind kind) {
  switch (kind) {
    case AdapterKind::ia3:
      return "ia3";
    case AdapterKind::prompt:
      return "prompt";
    case AdapterKind::channels:
      return "channels";
    case AdapterKind::lora:
      break;
  }
  return "lora";
}

Json adapter(const AdapterInfo& info) {
  Json result{{"kind", name_of(info.kind)},
              {"module", info.module},
              {"weight", info.weight},
              {"scale", number(info.scale)}};
  for (const auto& [name, state] :
       {std::pair("a", &info.a), std::pair("b", &info.b), std::pair("magnitude", &info.magnitude),
        std::pair("factor", &info.factor), std::pair("prompt", &info.prompt)}) {
    if (!state->empty()) result[name] = *state;
  }
  if (!info.factor.empty()) result["of_inputs"] = info.of_inputs;
  return result;
}

}  // namespace

std::string model_json(const Model& model) {
  Json algorithms = Json::array();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    const AlgorithmInfo info = model.algorithm(i);
    algorithms.push_back({{"inputs", ports(info.inputs)},
                          {"outputs", ports(info.outputs)},
                          {"updates", info.updates}});
  }
  Json state = Json::array();
  for (const StateInfo& info : model.state()) {
    state.push_back({{"name", info.name},
                     {"role", to_string(info.role)},
                     {"dtype", static_cast<int>(info.dtype)},
                     {"dims", dims(info.shape)}});
  }
  Json metadata = Json::object();
  for (const auto& [name, text] : model.metadata()) metadata[name] = text;
  Json result{{"inputs", ports(model.inputs())}, {"outputs", ports(model.outputs())}};
  result["algorithms"] = std::move(algorithms);
  result["state"] = std::move(state);
  result["metadata"] = std::move(metadata);
  result["classes"] = class_names(model);
  result["schedule"] = model_schedule(model);
  result["warnings"] = model.warnings();
  result["seed"] = model.seed();
  result["steps"] = model.steps();
  return text_of(result);
}

std::string prepare_json(const PrepareReport& report) { return text_of(prepared(report)); }

std::string artifacts_json(const ImportOrtReport& report) {
  return text_of({{"prepared", prepared(report.prepared)},
                  {"optimizer", report.optimizer},
                  {"learning_rate", number(double{report.learning_rate})},
                  {"step", report.step},
                  {"outputs", report.outputs},
                  {"labels", report.labels},
                  {"notes", report.notes}});
}

std::string restore_json(const RestoreReport& report) {
  Json properties = Json::object();
  for (const auto& [name, property] : report.properties) {
    std::visit([&, &key = name](const auto& value) { properties[key] = value; }, property);
  }
  return text_of({{"file", report.file.string()},
                  {"note", report.note},
                  {"epoch", report.cursor.epoch},
                  {"position", report.cursor.position},
                  {"shuffle_seed", report.cursor.shuffle_seed},
                  {"properties", std::move(properties)}});
}

std::string weights_json(const WeightReport& report) {
  return text_of(
      {{"assigned", report.assigned}, {"missing", report.missing}, {"unknown", report.unknown}});
}

std::string plan_json(const PlanInfo& plan) {
  return text_of({{"arena_bytes", plan.arena_bytes},
                  {"constant_bytes", plan.constant_bytes},
                  {"state_bytes", plan.state_bytes},
                  {"nodes", plan.nodes}});
}

std::string profile_json(const std::vector<ProfileEntry>& entries) {
  Json result = Json::array();
  for (const ProfileEntry& one : entries) {
    result.push_back({{"op", one.op}, {"calls", one.calls}, {"seconds", one.seconds}});
  }
  return text_of(result);
}

std::string texts_json(const std::vector<std::string>& texts) { return text_of(Json(texts)); }

std::string dataset_json(const Dataset& dataset) {
  Json result{{"rows", dataset.rows()},
              {"validation_rows", dataset.validation().rows()},
              {"columns", ports(dataset.columns())},
              {"target", dataset.target()},
              {"weights", dataset.weights()},
              {"classes", dataset.classes()},
              {"class_counts", dataset.class_counts()},
              {"sample_rate", dataset.sample_rate()},
              {"skipped", dataset.skipped()},
              {"notes", dataset.notes()}};
  return text_of(result);
}

std::string step_json(const StepReport& report) {
  return text_of({{"fold", report.fold},
                  {"epoch", report.epoch},
                  {"epochs", report.epochs},
                  {"step", report.step},
                  {"rows", report.rows},
                  {"epoch_rows", report.epoch_rows},
                  {"learning_rate", number(report.learning_rate)},
                  {"last", metrics(report.last)},
                  {"mean", metrics(report.mean)}});
}

std::string epoch_json(const EpochReport& report) { return text_of(epoch(report)); }

std::string fit_json(const FitReport& report) { return text_of(fitted(report)); }

std::string evaluation_json(const Evaluation& evaluation) { return text_of(evaluated(evaluation)); }

std::string finetune_json(const FinetuneReport& report) {
  return text_of({{"assumed", report.assumed},
                  {"notes", report.notes},
                  {"network", report.network},
                  {"prepared", prepared(report.prepared)},
                  {"fit", fitted(report.fit)},
                  {"training_rows", report.training_rows},
                  {"validation_rows", report.validation_rows},
                  {"evaluation", evaluated(report.evaluation)},
                  {"refit_rows", report.refit_rows},
                  {"metric", report.metric},
                  {"output", report.output.string()}});
}

std::string adapters_json(const std::vector<AdapterInfo>& adapters) {
  Json result = Json::array();
  for (const AdapterInfo& one : adapters) result.push_back(adapter(one));
  return text_of(result);
}

std::string generate_json(const GenerateReport& report) {
  return text_of({{"text", report.text},
                  {"tokens", report.tokens},
                  {"prompt_tokens", report.prompt_tokens},
                  {"prefill_seconds", number(report.prefill_seconds)},
                  {"decode_seconds", number(report.decode_seconds)},
                  {"end", to_string(report.end)},
                  {"cache", to_string(report.cache)}});
}

std::string import_json(const ImportHuggingFaceReport& report) {
  return text_of({{"architecture", report.architecture},
                  {"parameters", report.parameters},
                  {"weight_bytes", report.weight_bytes},
                  {"inputs", report.inputs},
                  {"outputs", report.outputs},
                  {"has_tokenizer", report.has_tokenizer},
                  {"has_chat_template", report.has_chat_template},
                  {"notes", report.notes}});
}

std::string federated_json(const FederatedAnswer& answer) {
  Json result{{"metrics", record(answer.metrics)}, {"config", record(answer.config)}};
  result["round"] = answer.round;
  result["notes"] = answer.notes;
  return text_of(result);
}

}  // namespace ondine::c
