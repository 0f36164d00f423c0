// A model file and settings -> prepare -> a training step; exported and loaded, the same step.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "proto/export.h"
#include "proto/import.h"
#include "tests/fuzz/any_options.h"
#include "tests/fuzz/outcome.h"
#include "tests/fuzz/settings.h"
#include "tests/fuzz/try_model.h"

namespace {

using namespace ondine;

void require_trained(const Model& model, const PrepareReport& report) {
  const auto state = model.state();
  for (const std::string& name : report.trained) {
    if (std::ranges::find(state, name, &StateInfo::name) == state.end()) {
      throw test::Fault("no state " + name);
    }
  }
  if (model.algorithm_count() == 0) throw test::Fault("prepared without an algorithm");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  LoadOptions load = test::narrow_options();
  graph::ModelDef def;
  if (test::refuses([&] { def = load_model(bytes, load.limits); })) return 0;
  const auto settings = test::settings_of(def);
  test::Choices choices(settings);
  const PrepareOptions options = test::any_prepare_options(choices, def);
  // Most models that a mutation gives have training information, which prepare refuses.
  std::vector<std::byte> plain;
  if (!def.training.empty() && !choices.once_in(8)) {
    def.training.clear();
    plain = export_model(def);
    bytes = plain;
  }
  PrepareReport report;
  std::optional<Model> model;
  if (test::refuses([&] { model.emplace(prepare(bytes, options, load, &report)); })) return 0;
  require_trained(*model, report);
  const auto exported = model->export_training();
  load.limits.parse_bytes *= 2;
  std::optional<Model> again;
  std::string refusal;
  if (test::refuses([&] { again.emplace(Model::load(exported, load)); }, &refusal)) {
    throw test::Fault("what was prepared does not load: " + refusal);
  }
  const auto difference =
      test::difference(test::outcome_of(*model, settings), test::outcome_of(*again, settings));
  if (!difference.empty()) throw test::Fault("prepared and exported, it differs: " + difference);
  return 0;
}
