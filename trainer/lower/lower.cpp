#include <ondine/lower.h>

#include "core/out_of_memory.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/lower/differentiate_model.h"
#include "trainer/lower/lower_model.h"
#include "trainer/model_impl.h"

namespace ondine {

LowerReport lower(const std::filesystem::path& model, const std::filesystem::path& output,
                  const LowerOptions& options, const Limits& limits) {
  return guard_memory("lower the model", [&] {
    return with_context(
        [&] {
          LowerReport report;
          const graph::ModelDef def = load_model(model, limits);
          save_model(trainer::lower_model(def, options, limits, report), output,
                     options.external_data_from);
          return report;
        },
        [&] { return "model " + quoted(model.filename().string()); });
  });
}

std::vector<std::byte> lower(const Model& model, const LowerOptions& options, LowerReport* report) {
  return guard_memory("lower the model", [&] {
    LowerReport made;
    auto bytes = export_model(trainer::lower_model(ModelAccess::present(model), options, {}, made));
    if (report != nullptr) *report = std::move(made);
    return bytes;
  });
}

LowerReport differentiate(const std::filesystem::path& model, const std::filesystem::path& output,
                          const DifferentiateOptions& options, const Limits& limits) {
  return guard_memory("differentiate the model", [&] {
    return with_context(
        [&] {
          LowerReport report;
          const graph::ModelDef def = load_model(model, limits);
          save_model(trainer::differentiate_model(def, options, limits, report), output,
                     options.external_data_from);
          return report;
        },
        [&] { return "model " + quoted(model.filename().string()); });
  });
}

std::vector<std::byte> differentiate(const Model& model, const DifferentiateOptions& options,
                                     LowerReport* report) {
  return guard_memory("differentiate the model", [&] {
    LowerReport made;
    auto bytes =
        export_model(trainer::differentiate_model(ModelAccess::present(model), options, {}, made));
    if (report != nullptr) *report = std::move(made);
    return bytes;
  });
}

}  // namespace ondine
