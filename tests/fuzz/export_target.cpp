// A model file -> load -> export -> load: the same model, the same bytes again and the same
// results.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "proto/export.h"
#include "proto/import.h"
#include "tests/fuzz/outcome.h"
#include "tests/fuzz/settings.h"
#include "tests/fuzz/try_model.h"
#include "tests/proto/model_difference.h"

namespace {

using namespace ondine;

// Loads the model and exports it with its state, which is what an application does.
void require_same_results(std::span<const std::byte> bytes,
                          const std::vector<std::uint8_t>& settings) {
  LoadOptions options = test::narrow_options();
  std::optional<Model> model;
  if (test::refuses([&] { model.emplace(Model::load(bytes, options)); })) return;
  const auto exported = model->export_training();
  options.limits.parse_bytes *= 2;
  std::optional<Model> again;
  std::string refusal;
  if (test::refuses([&] { again.emplace(Model::load(exported, options)); }, &refusal)) {
    throw test::Fault("what was exported does not load: " + refusal);
  }
  if (again->export_training() != exported) throw test::Fault("loaded again, the bytes differ");
  const auto difference =
      test::difference(test::outcome_of(*model, settings), test::outcome_of(*again, settings));
  if (!difference.empty()) throw test::Fault("exported, it differs: " + difference);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const Limits limits = test::narrow_options().limits;
  graph::ModelDef model;
  if (test::refuses([&] { model = load_model(bytes, limits); })) return 0;
  const auto exported = export_model(model);
  Limits wider = limits;
  wider.parse_bytes *= 2;
  const graph::ModelDef again = load_model(exported, wider);
  const std::string difference = test::model_difference(model, again);
  if (!difference.empty()) throw test::Fault("changed by export: " + difference);
  if (export_model(again) != exported) throw test::Fault("exported twice, the bytes differ");
  require_same_results(bytes, test::settings_of(model));
  return 0;
}
