#include <ondine/options.h>

#include <algorithm>

#include <ondine/data_record.h>
#include <ondine/error.h>

#include "trainer/options/groups.h"
#include "trainer/options/parse.h"
#include "trainer/options/prepare_parts.h"
#include "trainer/options/settings.h"
#include "trainer/text/generate/require_options.h"

namespace ondine {
namespace {

using options::apply;

template <class Rows>
std::span<const OptionInfo> infos_of(const Rows& rows) {
  static const std::vector<OptionInfo> infos = rows.infos();
  return infos;
}

// The name as the table has it.
std::string table_name(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

void require_one_loss(const OptionValues& values, OptionSpelling spelling) {
  const bool has_loss = std::any_of(values.begin(), values.end(), [](const auto& value) {
    const std::string name = table_name(value.first);
    return name == "loss" || name == "loss-model" || name == "in-batch";
  });
  if (has_loss) return;
  throw Error(ErrorCode::invalid_option, "prepare needs one of " +
                                             options::spelled("loss", spelling) + ", " +
                                             options::spelled("loss-model", spelling) + " and " +
                                             options::spelled("in-batch", spelling));
}

}  // namespace

const char* to_string(OptionKind kind) noexcept {
  switch (kind) {
    case OptionKind::flag:
      return "flag";
    case OptionKind::integer:
      return "integer";
    case OptionKind::real:
      return "real";
    case OptionKind::text:
      return "text";
    case OptionKind::choice:
      return "choice";
    case OptionKind::bytes:
      return "bytes";
    case OptionKind::duration:
      break;
  }
  return "duration";
}

const char* to_string(OptionGroup group) noexcept {
  switch (group) {
    case OptionGroup::load:
      return "load";
    case OptionGroup::data:
      return "data";
    case OptionGroup::table:
      return "table";
    case OptionGroup::prepare:
      return "prepare";
    case OptionGroup::train:
      return "train";
    case OptionGroup::evaluate:
      return "evaluate";
    case OptionGroup::export_:
      return "export";
    case OptionGroup::federate:
      return "federate";
    case OptionGroup::generate:
      return "generate";
    case OptionGroup::import_:
      return "import";
    case OptionGroup::network:
      return "network";
    case OptionGroup::budget:
      return "budget";
    case OptionGroup::finetune:
      return "finetune";
    case OptionGroup::command:
      break;
  }
  return "command";
}

std::span<const OptionInfo> option_table(OptionGroup group) {
  switch (group) {
    case OptionGroup::load:
      return infos_of(options::load_rows());
    case OptionGroup::data:
      return infos_of(options::data_rows());
    case OptionGroup::table:
      return infos_of(options::table_rows());
    case OptionGroup::prepare:
      return infos_of(options::prepare_rows());
    case OptionGroup::train:
      return infos_of(options::train_rows());
    case OptionGroup::evaluate:
      return infos_of(options::evaluate_rows());
    case OptionGroup::export_:
      return infos_of(options::export_rows());
    case OptionGroup::federate:
      return infos_of(options::federate_rows());
    case OptionGroup::generate:
      return infos_of(options::generate_rows());
    case OptionGroup::import_:
      return infos_of(options::import_rows());
    case OptionGroup::network:
      return infos_of(options::network_rows());
    case OptionGroup::budget:
      return infos_of(options::budget_rows());
    case OptionGroup::finetune:
      return infos_of(options::finetune_rows());
    case OptionGroup::command:
      break;
  }
  return {};
}

const OptionInfo* find_option(OptionGroup group, std::string_view name) noexcept {
  return options::find_in(option_table(group), name);
}

void check_options(OptionGroup group, const OptionValues& values, OptionSpelling spelling) {
  options::GivenOptions(option_table(group), to_string(group), values, spelling);
}

LoadOptions load_options(const OptionValues& values, OptionSpelling spelling, LoadOptions start) {
  apply(options::load_rows(), start, values, spelling);
  return start;
}

TableOptions table_options(const OptionValues& values, OptionSpelling spelling) {
  TableOptions result;
  apply(options::table_rows(), result, values, spelling);
  return result;
}

TrainBudget train_budget(const OptionValues& values, OptionSpelling spelling) {
  TrainBudget result;
  apply(options::budget_rows(), result, values, spelling);
  return result;
}

PrepareOptions prepare_options(const OptionValues& values, OptionSpelling spelling) {
  options::PrepareTarget target;
  apply(options::prepare_rows(), target, values, spelling);
  require_one_loss(values, spelling);
  options::reach_privacy_goal(target, spelling);
  if (target.schedule) {
    target.options.schedule = target.lengths;
    target.options.schedule->schedule = *target.schedule;
  }
  return target.options;
}

TrainerOptions trainer_options(const OptionValues& values, std::span<const PortInfo> inputs,
                               OptionSpelling spelling) {
  options::TrainTarget target{.options = {}, .inputs = inputs};
  apply(options::train_rows(), target, values, spelling);
  return target.options;
}

EvaluateOptions evaluate_options(const OptionValues& values, std::span<const PortInfo> inputs,
                                 OptionSpelling spelling) {
  options::EvaluateTarget target{.options = {}, .inputs = inputs};
  apply(options::evaluate_rows(), target, values, spelling);
  return target.options;
}

ExportOptions export_options(const OptionValues& values, OptionSpelling spelling) {
  ExportOptions result;
  apply(options::export_rows(), result, values, spelling);
  return result;
}

FederatedOptions federated_options(const OptionValues& values, OptionSpelling spelling) {
  FederatedOptions result;
  apply(options::federate_rows(), result, values, spelling);
  return result;
}

GenerateOptions generate_options(const OptionValues& values, OptionSpelling spelling) {
  GenerateOptions result;
  apply(options::generate_rows(), result, values, spelling);
  text::require_effects(result, spelling);
  return result;
}

ImportHuggingFaceOptions import_options(const OptionValues& values, OptionSpelling spelling) {
  ImportHuggingFaceOptions result;
  apply(options::import_rows(), result, values, spelling);
  return result;
}

NetworkOptions network_options(const OptionValues& values, OptionSpelling spelling) {
  options::NetworkTarget target;
  apply(options::network_rows(), target, values, spelling);
  return options::finished(target);
}

FinetuneOptions finetune_options(const OptionValues& values, OptionSpelling spelling) {
  options::FinetuneTarget target;
  apply(options::finetune_rows(), target, values, spelling);
  return options::finished(std::move(target), values, spelling);
}

DatasetOptions dataset_options(const OptionValues& values, OptionSpelling spelling) {
  options::DataTarget target;
  apply(options::data_rows(), target, values, spelling);
  return target.options;
}

DatasetOptions dataset_options(const OptionValues& values, const Model& model, DataUse use,
                               OptionSpelling spelling) {
  options::DataTarget target;
  target.options = recorded_options(model, use);
  target.options.text = text_options(model);
  target.has_recorded_text = !data_record(model).text.encoding.empty();
  target.recorded_encoding = target.options.text.encoding;
  target.recorded_rate = target.options.audio.rate;
  apply(options::data_rows(), target, values, spelling);
  return target.options;
}

ImageSize image_size_from_text(std::string_view text, OptionSpelling spelling) {
  return options::parse_size(std::string(text), options::spelled("image-size", spelling));
}
Preprocess preprocess_from_text(std::string_view text, OptionSpelling spelling) {
  return options::parse_preprocess(std::string(text), options::spelled("preprocess", spelling));
}
Augmentation augmentation_from_text(std::string_view text, OptionSpelling spelling) {
  return options::parse_augmentation(std::string(text), options::spelled("augment", spelling));
}

}  // namespace ondine
