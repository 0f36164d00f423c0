#include <ondine/commands.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "core/message.h"
#include "trainer/options/commands/command_rows.h"
#include "trainer/options/given.h"
#include "trainer/options/parse.h"

namespace ondine {
namespace {

using options::CommandRows;

struct Entry {
  std::string_view name;
  CommandRows (*rows)();
};

constexpr Entry entries[] = {{"info", options::info_rows},
                             {"check", options::check_rows},
                             {"inspect", options::inspect_rows},
                             {"prepare", options::prepare_command_rows},
                             {"finetune", options::finetune_command_rows},
                             {"new", options::new_rows},
                             {"federate", options::federate_command_rows},
                             {"train", options::train_command_rows},
                             {"infer", options::infer_rows},
                             {"generate", options::generate_command_rows},
                             {"eval", options::eval_rows},
                             {"export", options::export_command_rows},
                             {"verify", options::verify_rows},
                             {"bench", options::bench_rows},
                             {"gradcheck", options::gradcheck_rows},
                             {"doctor", options::doctor_rows},
                             {"lower", options::lower_rows},
                             {"differentiate", options::differentiate_rows},
                             {"import-hf", options::import_hf_rows},
                             {"import-ort", options::import_ort_rows},
                             {"replay", options::replay_rows},
                             {"completion", options::completion_rows},
                             {"man", options::man_rows},
                             {"options", options::options_rows}};

constexpr auto names = [] {
  std::array<std::string_view, std::size(entries)> result;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = entries[i].name;
  return result;
}();

}  // namespace

std::span<const std::string_view> command_names() noexcept { return names; }

std::span<const OptionInfo> command_table(std::string_view command) {
  const auto entry = std::ranges::find(entries, command, &Entry::name);
  if (entry == std::end(entries)) {
    fail(ErrorCode::not_found, "there is no command ", quoted(command));
  }
  static std::mutex mutex;
  static std::map<std::string_view, std::vector<OptionInfo>> tables;
  const std::lock_guard lock(mutex);
  std::vector<OptionInfo>& table = tables[entry->name];
  if (table.empty()) {
    CommandRows rows = entry->rows();
    rows.forget_others();
    table = rows.infos();
  }
  return table;
}

CommandOptions::CommandOptions(std::string_view command, const OptionValues& values,
                               OptionSpelling spelling, std::span<const std::string> shared)
    : command_(command),
      given_(std::make_shared<options::GivenOptions>(command_table(command), command, values,
                                                     spelling, shared)) {}

bool CommandOptions::takes(std::string_view name) const noexcept {
  return options::find_in(given_->table(), name) != nullptr;
}

const OptionInfo& CommandOptions::info(std::string_view name) const {
  const OptionInfo* const found = options::find_in(given_->table(), name);
  if (found == nullptr) {
    fail(ErrorCode::internal, "the command ", command_, " has no option ", quoted(name));
  }
  return *found;
}

bool CommandOptions::has(std::string_view name) const {
  const OptionInfo& option = info(name);
  const options::Given* const given = given_->find(option.name);
  return given != nullptr && (option.kind != OptionKind::flag || given->flag());
}

std::vector<std::string> CommandOptions::texts(std::string_view name) const {
  const options::Given* const given = given_->find(info(name).name);
  return given == nullptr ? std::vector<std::string>() : given->texts();
}

std::string CommandOptions::text(std::string_view name) const {
  const OptionInfo& option = info(name);
  const options::Given* const given = given_->find(option.name);
  return given == nullptr ? option.default_value : given->text();
}

std::int64_t CommandOptions::integer(std::string_view name) const {
  return options::integer(text(name)).value_or(0);
}

double CommandOptions::real(std::string_view name) const {
  return options::number(text(name)).value_or(0);
}

std::optional<std::int64_t> CommandOptions::find_integer(std::string_view name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}

OptionValues CommandOptions::of(OptionGroup group) const {
  OptionValues values;
  for (const OptionInfo& option : given_->table()) {
    const options::Given* const given = given_->find(option.name);
    if (option.group != group || given == nullptr) continue;
    for (const std::string& text : given->texts()) values.emplace_back(option.name, text);
  }
  return values;
}

}  // namespace ondine
