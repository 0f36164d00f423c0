#include <ondine/prepare.h>

#include <memory>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/system/pages.h"
#include "graph/check/findings.h"
#include "graph/check/structure.h"
#include "graph/resolve/resolve.h"
#include "graph/training/adapters/targets.h"
#include "graph/training/prepare/prepare.h"
#include "graph/training/preprocess/preprocess.h"
#include "graph/training/preprocess/table.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/model/assemble.h"
#include "trainer/model/load_checked.h"
#include "trainer/model/model_impl.h"
#include "trainer/prepare.h"
#include "trainer/text/packing_check.h"

namespace ondine {
namespace {

constexpr const char* prepare_failure = "prepare the model";

graph::TypeDef to_def(const graph::Type& type, const graph::Symbols& symbols) {
  graph::TypeDef def;
  def.kind = type.kind;
  def.dtype = type.dtype;
  if (!type.dims) return def;
  def.dims.emplace();
  for (const graph::Dim dim : *type.dims) {
    if (dim.known()) {
      def.dims->emplace_back(dim.size());
    } else if (dim.is_symbolic() && dim.symbol() < symbols.names.size()) {
      def.dims->emplace_back(graph::DimName(symbols.names[dim.symbol()]));
    } else {
      def.dims->emplace_back();
    }
  }
  return def;
}

std::optional<graph::ModelDef> load_loss(const PrepareOptions& options, const LoadOptions& model) {
  LoadOptions load;
  load.limits = model.limits;
  load.operator_sets = model.operator_sets;
  if (const auto* file = std::get_if<std::filesystem::path>(&options.loss_model)) {
    return with_context([&] { return trainer::load_checked(*file, load).def; },
                        [&] { return "loss model " + quoted(file->string()); });
  }
  if (const auto* bytes = std::get_if<std::vector<std::byte>>(&options.loss_model)) {
    return with_context([&] { return trainer::load_checked(std::span(*bytes), load).def; },
                        [] { return std::string("loss model"); });
  }
  return {};
}

// After an exception `def` may be half changed.
PrepareReport write_training(graph::ModelDef& def, const PrepareOptions& asked,
                             const LoadOptions& load) {
  PrepareOptions options = asked;
  graph::name_numbered_nodes(def.graph, options);
  const std::optional<graph::ModelDef> loss = load_loss(options, load);
  for (const Preprocess& one : options.preprocess) graph::write_preprocess(def, one);
  std::vector<std::string> fresh;
  if (options.table) fresh = graph::write_table(def, *options.table);
  PrepareReport report =
      graph::prepare(def, options, trainer::types_of(def, load), loss ? &*loss : nullptr, {}, fresh,
                     [&](const graph::ModelDef& one) { return trainer::types_of(one, load); });
  if (options.packing) text::check_packing(def, report.prediction, load);
  return report;
}

Model prepare_checked(trainer::CheckedModel checked, const PrepareOptions& options,
                      const LoadOptions& load, PrepareReport* report) {
  checked.leftovers = {};
  PrepareReport made = write_training(checked.def, options, load);
  Model model = ModelAccess::make(std::move(checked), load);
  model.initialize(load.seed);
  const std::vector<std::string> found = model.warnings();
  made.warnings.insert(made.warnings.end(), found.begin(), found.end());
  if (report != nullptr) *report = std::move(made);
  return model;
}

}  // namespace

graph::ValueTypes trainer::types_of(const graph::ModelDef& def, const LoadOptions& load) {
  const Limits& limits = load.limits;
  graph::Findings findings(trainer::rigor_of(load));
  graph::check_structure(def, trainer::all_operators(), limits, findings);
  findings.throw_if_any();
  graph::ResolveContext context;
  context.model = &def;
  context.catalogue = &trainer::all_operators();
  context.limits = &limits;
  context.symbols = std::make_shared<graph::Symbols>();
  context.report = [](const Error&) {};
  if (!load.strict) context.warn = [](const Error&) {};
  graph::ValueTypes types;
  try {
    const graph::Graph graph = graph::resolve(def.graph, context);
    for (const graph::GraphValue& value : graph.values) {
      if (value.type.is_tensor()) types.emplace(value.name, to_def(value.type, *context.symbols));
    }
  } catch (const Error&) {
    types.clear();
  }
  return types;
}

Model prepare(const std::filesystem::path& model, const PrepareOptions& options,
              const LoadOptions& load, PrepareReport* report) {
  return guard_memory(prepare_failure, [&] {
    const StopScope scope(stop_of(load));
    return with_context(
        [&] { return prepare_checked(trainer::load_checked(model, load), options, load, report); },
        [&] { return "model " + quoted(model.filename().string()); });
  });
}

Model prepare(std::span<const std::byte> model, const PrepareOptions& options,
              const LoadOptions& load, PrepareReport* report) {
  return guard_memory(prepare_failure, [&] {
    const StopScope scope(stop_of(load));
    return prepare_checked(trainer::load_checked(model, load), options, load, report);
  });
}

Model prepare(const Model& model, const PrepareOptions& options, const LoadOptions& load,
              PrepareReport* report) {
  return guard_memory(prepare_failure, [&] {
    const StopScope scope(stop_of(load));
    return prepare_checked({ModelAccess::present(model), {}, model.warnings()}, options, load,
                           report);
  });
}

PrepareReport prepare(const std::filesystem::path& input, const std::filesystem::path& output,
                      const PrepareOptions& options, const Limits& limits) {
  LoadOptions load;
  load.limits = limits;
  return prepare(input, output, options, load);
}

PrepareReport prepare(const std::filesystem::path& input, const std::filesystem::path& output,
                      const PrepareOptions& options, const LoadOptions& options_of_load) {
  return guard_memory(prepare_failure, [&] {
    const StopScope scope(stop_of(options_of_load));
    LoadOptions load;
    load.limits = options_of_load.limits;
    load.operator_sets = options_of_load.operator_sets;
    trainer::CheckedModel checked = trainer::load_checked(input, load);
    graph::ModelDef& model = checked.def;
    return with_context(
        [&] {
          PrepareReport report = write_training(model, options, load);
          return_freed_memory();
          // Differentiates a step as loading will, so that an operator without derivative is
          // reported before the model is written.
          report.warnings.insert(report.warnings.end(), checked.warnings.begin(),
                                 checked.warnings.end());
          const std::vector<std::string> found = trainer::check_assembly(model, load);
          report.warnings.insert(report.warnings.end(), found.begin(), found.end());
          return_freed_memory();
          save_model(model, output, options.external_data_from);
          return report;
        },
        [&] { return "model " + quoted(input.filename().string()); });
  });
}

}  // namespace ondine
