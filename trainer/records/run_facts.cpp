#include "trainer/records/run_facts.h"

#include <algorithm>
#include <array>
#include <thread>

#include <ondine/data_record.h>
#include <ondine/metadata.h>
#include <ondine/version.h>

#include "graph/record/training_entries.h"
#include "kernels/simd/isa.h"
#include "trainer/fit/accumulation.h"
#include "trainer/fit/schedule.h"
#include "trainer/model/model_impl.h"
#include "trainer/records/system_name.h"

namespace ondine::records {
namespace {

// Items of a list, and the number of further ones.
std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::string ports_text(const std::vector<PortInfo>& ports) {
  std::vector<std::string> names;
  for (const PortInfo& port : ports) names.push_back(port.name + ": " + port.type);
  return list_text(names);
}

// 1,234,567
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// "1 tensor", "1,234 tensors"
std::string counted(std::uint64_t number, const std::string& noun) {
  return grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

constexpr std::string_view prefix = "ondine.";  // of entries

bool is_for_people(std::string_view entry) {
  return entry != graph::entry::scheduled_rate && entry != graph::entry::averaged &&
         entry != graph::entry::averages;
}

Section model_facts(const Model& model, const TrainerOptions* options) {
  Section section{"Model", {}};
  const auto add = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) section.rows.emplace_back(name, text);
  };
  add("inputs", ports_text(model.inputs()));
  add("outputs", ports_text(model.outputs()));
  const std::vector<std::string> updates =
      options == nullptr ? std::vector<std::string>()
                         : model.algorithm(fit::update_algorithm(model, *options)).updates;
  std::uint64_t trained = 0;
  std::uint64_t optimizer = 0;
  std::size_t tensors = 0;
  for (const StateInfo& variable : model.state()) {
    const bool is_weight = variable.role == StateRole::weight;
    const auto size = static_cast<std::uint64_t>(variable.shape.size());
    if (std::find(updates.begin(), updates.end(), variable.name) == updates.end()) continue;
    (is_weight ? trained : optimizer) += size;
    tensors += is_weight ? 1 : 0;
  }
  if (options != nullptr) {
    add("trained", counted(trained, "number") + " in " + counted(tensors, "tensor"));
  }
  if (optimizer != 0) add("optimizer state", counted(optimizer, "number"));
  const DataRecord record = data_record(model);
  add("loss", record.prediction.loss);
  add("prediction", record.prediction.value);
  add("label", record.prediction.label);
  add("texts", record.text.encoding);
  for (const DataRecord::Preprocessing& one : record.preprocessing) {
    add("preprocessing of " + one.input, one.description);
  }
  for (const char* entry : graph::entry::all) {
    if (is_for_people(entry)) add(entry + prefix.size(), metadata_of(model, entry));
  }
  add("fingerprint", model.fingerprint());
  return section;
}

Section data_facts(const Dataset& training, const Dataset& validation,
                   const TrainerOptions& options) {
  Section section{"Data", {}};
  if (!training.empty()) section.rows.emplace_back("training rows", grouped(training.rows()));
  if (!validation.empty()) section.rows.emplace_back("validation rows", grouped(validation.rows()));
  if (options.validation_split != 0) {
    section.rows.emplace_back("validation split", short_number(options.validation_split));
  }
  if (!training.empty()) section.rows.emplace_back("columns", ports_text(training.columns()));
  const std::vector<std::string>& classes = training.classes();
  if (!classes.empty()) {
    section.rows.emplace_back("classes",
                              std::to_string(classes.size()) + ": " + list_text(classes));
  }
  return section;
}

Section option_facts(const Model& model, const TrainerOptions& options) {
  Section section{"Options", {}};
  const auto add = [&](const std::string& name, const std::string& text) {
    section.rows.emplace_back(name, text);
  };
  add("epochs", std::to_string(options.epochs));
  add("batch size", std::to_string(options.batch_size));
  add("seed", std::to_string(options.seed));
  if (options.learning_rate) {
    add("learning rate", short_number(static_cast<double>(*options.learning_rate)));
  }
  const auto rate = fit::find_model_rate(model, fit::update_algorithm(model, options));
  add("schedule", rate ? "of the model" : fit::name_of(options.schedule));
  if (options.early_stopping) {
    add("early stopping", options.early_stopping->metric + ", patience " +
                              std::to_string(options.early_stopping->patience));
  }
  if (options.max_time) {
    add("time limit", short_number(static_cast<double>(options.max_time->count()) / 1e3) + " s");
  }
  if (options.max_steps) add("step limit", std::to_string(*options.max_steps));
  for (const auto& [name, value] : options.constants) add(name, short_number(value));
  if (!options.checkpoint.empty()) add("checkpoint", options.checkpoint.string());
  return section;
}

Section environment_facts(const Model& model) {
  Section section{"Environment", {}};
  section.rows.emplace_back("Ondine", version());
  section.rows.emplace_back("instruction set", math::isa_name(math::simd_tables()));
  section.rows.emplace_back("threads", std::to_string(ModelAccess::threads(model)) + " of " +
                                           std::to_string(std::thread::hardware_concurrency()));
  const std::string system = system_name();
  if (!system.empty()) section.rows.emplace_back("system", system);
  return section;
}

}  // namespace

std::vector<Section> evaluation_facts(const Model& model, const Dataset& data) {
  return {model_facts(model, nullptr), data_facts(Dataset(), data, {}), environment_facts(model)};
}

std::vector<Section> run_facts(const Model& model, const TrainerOptions& options,
                               const Dataset& training, const Dataset& validation) {
  return {model_facts(model, &options), data_facts(training, validation, options),
          option_facts(model, options), environment_facts(model)};
}

}  // namespace ondine::records
