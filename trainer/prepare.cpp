#include <ondine/prepare.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/training/prepare.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/assemble.h"
#include "trainer/load_checked.h"
#include "trainer/model_impl.h"

namespace ondine {
namespace {

constexpr const char* what = "prepare the model";

Model prepare_def(graph::ModelDef def, const PrepareOptions& options, const LoadOptions& load,
                  PrepareReport* report) {
  PrepareReport made = graph::prepare(def, options);
  Model model = ModelAccess::make(std::move(def), load);
  model.initialize(load.seed);
  if (report != nullptr) *report = std::move(made);
  return model;
}

}  // namespace

Model prepare(const std::filesystem::path& model, const PrepareOptions& options,
              const LoadOptions& load, PrepareReport* report) {
  return guard_memory(what, [&] {
    const StopScope scope(stop_of(load));
    return with_context(
        [&] { return prepare_def(trainer::load_checked(model, load).def, options, load, report); },
        [&] { return "model " + quoted(model.filename().string()); });
  });
}

Model prepare(std::span<const std::byte> model, const PrepareOptions& options,
              const LoadOptions& load, PrepareReport* report) {
  return guard_memory(what, [&] {
    const StopScope scope(stop_of(load));
    return prepare_def(trainer::load_checked(model, load).def, options, load, report);
  });
}

Model prepare(const Model& model, const PrepareOptions& options, const LoadOptions& load,
              PrepareReport* report) {
  return guard_memory(what, [&] {
    const StopScope scope(stop_of(load));
    return prepare_def(ModelAccess::present(model), options, load, report);
  });
}

PrepareReport prepare(const std::filesystem::path& input, const std::filesystem::path& output,
                      const PrepareOptions& options, const Limits& limits) {
  return guard_memory(what, [&] {
    graph::ModelDef model = load_model(input, limits);
    return with_context(
        [&] {
          PrepareReport report = graph::prepare(model, options);
          // Assembles a step as loading will, so that an operator without derivative is reported
          // before the model is written.
          LoadOptions load;
          load.limits = limits;
          trainer::assemble(model, load);
          save_model(model, output, options.external_data_from);
          return report;
        },
        [&] { return "model " + quoted(input.string()); });
  });
}

}  // namespace ondine
