#include <ondine/import_ort.h>

#include <algorithm>
#include <set>

#include "core/out_of_memory.h"
#include "graph/training/prepare/prepare.h"
#include "proto/export.h"
#include "trainer/import_ort/artifacts.h"
#include "trainer/import_ort/split_loss.h"
#include "trainer/model/model_impl.h"
#include "trainer/prepare.h"

namespace ondine {
namespace {

constexpr const char* what = "import artifacts of ONNX Runtime";

graph::Strings names_of(const trainer::OrtCheckpoint& checkpoint) {
  graph::Strings names;
  for (const auto& [name, value] : checkpoint.trained) names.insert(name);
  for (const auto& [name, value] : checkpoint.frozen) names.insert(name);
  return names;
}

PrepareOptions options_for(const trainer::OrtArtifacts& artifacts) {
  PrepareOptions options;
  options.optimizer = artifacts.optimizer.settings;
  options.clip_norm = artifacts.optimizer.clip_norm;
  options.init = WeightInit::keep;
  const bool decays =
      std::visit([](const auto& one) { return one.weight_decay != 0; }, options.optimizer);
  if (decays) options.decayed = DecayedParameters::all;  // as onnxruntime-training
  options.training_mode = artifacts.trains_mode;
  for (const auto& [name, value] : artifacts.checkpoint.trained) options.train.push_back(name);
  return options;
}

// A pattern of PrepareOptions matches more than its own name if that has a wildcard.
void check_trained(const trainer::OrtArtifacts& artifacts, const PrepareReport& report) {
  std::set<std::string> trained(report.trained.begin(), report.trained.end());
  for (const auto& [name, value] : artifacts.checkpoint.trained) {
    if (trained.erase(name) != 0) continue;
    fail(ErrorCode::mismatch, "parameter ", quoted(name), " cannot be trained");
  }
  if (!trained.empty()) {
    fail(ErrorCode::unsupported, "parameter ", quoted(*trained.begin()),
         " is frozen, but has the name of one that is not, for '*' and '?' stand for any text");
  }
}

// Properties of the checkpoint become metadata, but for keys that are taken.
void add_properties(graph::ModelDef& model, const trainer::OrtCheckpoint& checkpoint,
                    std::vector<std::string>& notes) {
  for (const auto& [key, value] : checkpoint.properties) {
    const bool is_taken =
        key.empty() || key.starts_with("ondine.") ||
        std::ranges::find(model.metadata, key, &std::pair<std::string, std::string>::first) !=
            model.metadata.end();
    if (is_taken) {
      notes.push_back(cat("property ", quoted(key), " is left out: the model's metadata has it"));
    } else {
      model.metadata.emplace_back(key, value);
    }
  }
}

void add_notes(const trainer::OrtArtifacts& artifacts, const trainer::SplitModel& split,
               std::vector<std::string>& notes) {
  for (const std::string& name : split.dropped) {
    notes.push_back(cat("output ", quoted(name), " is left out: it depends on a label"));
  }
  if (split.labels.empty()) {
    notes.emplace_back("no input is read by the loss only; the loss is part of the network");
  }
  if (artifacts.normalizes) {
    notes.emplace_back("steps update the running statistics of BatchNormalization");
  }
  if (artifacts.optimizer.clip_norm) {
    notes.emplace_back("gradients are clipped without the 1e-6 that ONNX Runtime adds to the norm");
  }
}

struct Imported {
  trainer::CheckedModel model;
  ImportOrtReport report;
};

Imported read(const std::filesystem::path& folder, const ImportOrtOptions& options,
              const LoadOptions& load) {
  trainer::OrtArtifacts artifacts = trainer::load_artifacts(folder, options, load);
  const trainer::SplitModel split =
      trainer::split_loss(artifacts.eval, trainer::types_of(artifacts.eval, load),
                          names_of(artifacts.checkpoint), options.labels);
  Imported result;
  ImportOrtReport& report = result.report;
  graph::ModelDef& model = result.model.def;
  model = split.network;
  report.prepared = graph::prepare(model, options_for(artifacts), trainer::types_of(model, load),
                                   &split.loss, artifacts.optimizer.start);
  check_trained(artifacts, report.prepared);
  add_notes(artifacts, split, report.notes);
  add_properties(model, artifacts.checkpoint, report.notes);
  report.optimizer = artifacts.optimizer.name;
  report.learning_rate =
      std::visit([](const auto& one) { return one.learning_rate; }, artifacts.optimizer.settings);
  if (artifacts.checkpoint.optimizer) report.step = artifacts.checkpoint.optimizer->step;
  report.labels = split.labels;
  for (const graph::ValueDef& output : model.graph.outputs) report.outputs.push_back(output.name);
  result.model.warnings = artifacts.warnings;
  return result;
}

template <class Body>
decltype(auto) with_folder(const std::filesystem::path& folder, Body&& body) {
  return guard_memory(what, [&] {
    return with_context(body, [&] { return "artifacts in " + quoted(folder.string()); });
  });
}

}  // namespace

Model import_ort(const std::filesystem::path& folder, const ImportOrtOptions& options,
                 const LoadOptions& load, ImportOrtReport* report) {
  return with_folder(folder, [&] {
    const StopScope scope(stop_of(load));
    Imported imported = read(folder, options, load);
    Model model = ModelAccess::make(std::move(imported.model), load);
    imported.report.prepared.warnings = model.warnings();
    if (report != nullptr) *report = std::move(imported.report);
    return model;
  });
}

ImportOrtReport import_ort(const std::filesystem::path& folder, const std::filesystem::path& output,
                           const ImportOrtOptions& options, const Limits& limits) {
  LoadOptions load;
  load.limits = limits;
  return import_ort(folder, output, options, load);
}

ImportOrtReport import_ort(const std::filesystem::path& folder, const std::filesystem::path& output,
                           const ImportOrtOptions& options, const LoadOptions& load) {
  return with_folder(folder, [&] {
    Imported imported = read(folder, options, load);
    ImportOrtReport& report = imported.report;
    report.prepared.warnings = imported.model.warnings;
    // Assembles a step as loading will, so that an operator without derivative is reported before
    // the model is written.
    const std::vector<std::string> found = trainer::assemble(imported.model.def, load).warnings;
    report.prepared.warnings.insert(report.prepared.warnings.end(), found.begin(), found.end());
    save_model(imported.model.def, output, options.external_data_from);
    return report;
  });
}

}  // namespace ondine
