#include <ondine/lower.h>

#include "core/out_of_memory.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/lower/differentiate_model.h"
#include "trainer/lower/lower_model.h"
#include "trainer/model/model_impl.h"
#include "trainer/model/operator_sets.h"

namespace ondine {

namespace {

LoadOptions with_limits(const Limits& limits) {
  LoadOptions load;
  load.limits = limits;
  return load;
}

// Saves what `change` makes of the model.
template <class Change>
LowerReport write(const char* what, const std::filesystem::path& model,
                  const std::filesystem::path& output,
                  std::optional<std::uint64_t> external_data_from, const LoadOptions& load,
                  const Change& change) {
  return guard_memory(what, [&] {
    return with_context(
        [&] {
          LowerReport report;
          graph::ModelDef def = load_model(model, load.limits);
          std::vector<std::string> warnings;
          trainer::link_operator_sets(def, load, warnings);
          save_model(change(def, report), output, external_data_from);
          report.warnings = std::move(warnings);
          return report;
        },
        [&] { return "model " + quoted(model.filename().string()); });
  });
}

// What `change` makes of a loaded model, under the limits that it was loaded with.
template <class Change>
std::vector<std::byte> bytes_of(const Model& model, LowerReport* report, const Change& change) {
  LowerReport made;
  const Limits& limits = ModelAccess::impl(model).options.limits;
  std::vector<std::byte> bytes = export_model(change(ModelAccess::present(model), limits, made));
  if (report != nullptr) *report = std::move(made);
  return bytes;
}

}  // namespace

LowerReport lower(const std::filesystem::path& model, const std::filesystem::path& output,
                  const LowerOptions& options, const Limits& limits) {
  return lower(model, output, options, with_limits(limits));
}

LowerReport lower(const std::filesystem::path& model, const std::filesystem::path& output,
                  const LowerOptions& options, const LoadOptions& load) {
  return write("lower the model", model, output, options.external_data_from, load,
               [&](const graph::ModelDef& def, LowerReport& report) {
                 return trainer::lower_model(def, options, load.limits, report);
               });
}

std::vector<std::byte> lower(const Model& model, const LowerOptions& options, LowerReport* report) {
  return guard_memory("lower the model", [&] {
    return bytes_of(model, report, [&](const auto& def, const Limits& limits, LowerReport& made) {
      return trainer::lower_model(def, options, limits, made);
    });
  });
}

LowerReport differentiate(const std::filesystem::path& model, const std::filesystem::path& output,
                          const DifferentiateOptions& options, const Limits& limits) {
  return differentiate(model, output, options, with_limits(limits));
}

LowerReport differentiate(const std::filesystem::path& model, const std::filesystem::path& output,
                          const DifferentiateOptions& options, const LoadOptions& load) {
  return write("differentiate the model", model, output, options.external_data_from, load,
               [&](const graph::ModelDef& def, LowerReport& report) {
                 return trainer::differentiate_model(def, options, load.limits, report);
               });
}

std::vector<std::byte> differentiate(const Model& model, const DifferentiateOptions& options,
                                     LowerReport* report) {
  return guard_memory("differentiate the model", [&] {
    return bytes_of(model, report, [&](const auto& def, const Limits& limits, LowerReport& made) {
      return trainer::differentiate_model(def, options, limits, made);
    });
  });
}

}  // namespace ondine
