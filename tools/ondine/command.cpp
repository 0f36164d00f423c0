#include "ondine/command.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <type_traits>

#include "ondine/job_file.h"
#include "ondine/parser_table.h"

namespace ondine::cli {
namespace {

// As the help shows it.
std::string placeholder(const OptionInfo& info) {
  if (info.kind != OptionKind::choice) return info.value;
  return info.choices.size() > 4 ? "NAME" : [&] {
    std::string text;
    for (const std::string& one : info.choices) text += (text.empty() ? "" : "|") + one;
    return text;
  }();
}

std::string help_of(const OptionInfo& info) {
  if (info.kind != OptionKind::choice || info.choices.size() <= 4) return info.help;
  std::string text = info.help + ": ";
  for (std::size_t i = 0; i < info.choices.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == info.choices.size() ? " or " : ", ") + info.choices[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  if (option.get_positional()) names.push_back(option.get_name(true));
  return names;
}

std::string key_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  std::string key = option.get_positional() ? option.get_name(true) : option.get_snames().front();
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return key;
}

bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }
bool is_help(const CLI::Option& option) {
  return option.check_lname("help") || option.check_lname("help-all");
}
bool is_in_jobs(const CLI::Option& option) {
  return is_shown(option) && !is_help(option) && !option.check_lname("config") &&
         !option.check_lname("write-config");
}

Option& Option::required() {
  option_->required();
  option_->default_str("");
  return *this;
}

Option& Option::positive() {
  option_->check(CLI::Validator(
      [](const std::string& text) {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number);
        return std::string(
            is_number && number > 0 && std::isfinite(number) ? "" : "needs a number above 0");
      },
      "POSITIVE"));
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::one_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::hidden() {
  option_->group("");
  return *this;
}

std::string Option::name() const { return option_->get_name(); }

bool Option::given() const { return option_->count() > 0; }

Option Command::option(const std::string& names, Target to, const std::string& help) {
  return Option(std::visit(
      [&](auto* value) {
        if constexpr (std::is_same_v<decltype(value), bool*>) {
          return app_->add_flag(names, *value, help);
        } else {
          using Value = std::remove_pointer_t<decltype(value)>;
          CLI::Option* added = app_->add_option(names, *value, help);
          if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
            std::ostringstream text;
            text << *value;
            added->default_str(text.str());
          }
          return added;
        }
      },
      to));
}

Option Command::choose(const std::string& names, const std::vector<std::string>& keys,
                       std::function<void(const std::string&)> take, const std::string& help,
                       const std::string& present) {
  // The description lists the choices already.
  CLI::Option* added = app_->add_option_function<std::string>(names, take, help);
  added->transform(CLI::IsMember(keys, CLI::ignore_case).description(""));
  added->default_str(present);
  table_->choices[added] = keys;
  return Option(added);
}

void Command::table(OptionGroup group, const TakeValue& take, Names only, Names except) {
  const auto is_in = [](Names names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const OptionInfo& info : option_table(group)) {
    if ((only.size() != 0 && !is_in(only, info.name)) || is_in(except, info.name)) continue;
    add_row(info, take);
    add_former(info, take);
  }
}

void Command::table(OptionGroup group, OptionValues& values, Names only, Names except) {
  const auto take = [&values](const std::string& name, const std::string& value) {
    values.emplace_back(name, value);
  };
  table(group, take, only, except);
  table_->checks[app_].push_back(
      [group, &values] { check_options(group, values, OptionSpelling::dashes); });
}

void Command::add_row(const OptionInfo& info, const TakeValue& take) {
  CLI::Option* added = nullptr;
  const std::string names =
      (info.letter == 0 ? "" : std::string("-") + info.letter + ",") + "--" + info.name;
  if (info.kind == OptionKind::flag) {
    added = app_->add_flag_function(
        names,
        [take, name = info.name](std::int64_t count) { take(name, count > 0 ? "true" : "false"); },
        info.help);
  } else if (info.repeats) {
    added = app_->add_option_function<std::vector<std::string>>(
        names,
        [take, name = info.name](const std::vector<std::string>& values) {
          for (const std::string& value : values) take(name, value);
        },
        help_of(info));
    added->allow_extra_args(info.several);
  } else {
    added = app_->add_option_function<std::string>(
        names, [take, name = info.name](const std::string& value) { take(name, value); },
        help_of(info));
  }
  if (info.kind != OptionKind::flag) added->type_name(placeholder(info));
  added->default_str(info.default_value);
  added->group(info.heading);
  if (!info.choices.empty()) table_->choices[added] = info.choices;
  table_->rows[added] = info;
}

// Names of before, which the help does not show.
void Command::add_former(const OptionInfo& info, const TakeValue& take) {
  for (const std::string& former : info.former) {
    if (info.kind == OptionKind::flag) {
      app_->add_flag_function("--" + former,
                              [take, name = info.name](std::int64_t count) {
                                take(name, count > 0 ? "true" : "false");
                              })
          ->group("");
      continue;
    }
    app_->add_option_function<std::string>(
            "--" + former,
            [take, name = info.name](const std::string& value) { take(name, value); })
        ->group("");
  }
}

Option Command::find(const std::string& name) const { return Option(app_->get_option(name)); }

void Command::renamed(const std::string& former, const std::string& name) {
  table_->renamed[app_][former] = name;
}

bool Command::is_from_job(const std::string& name) const { return table_->from_job.contains(name); }

void Command::heading(const std::string& text) { app_->option_defaults()->group(text); }

std::string Command::job_text(bool with_defaults) const {
  const std::string& own = table_->sections.at(app_);
  std::map<std::string, std::string> sections;
  for (const CLI::Option* option : app_->get_options()) {
    if (!is_in_jobs(*option)) continue;
    const auto row = table_->rows.find(option);
    const bool is_row = row != table_->rows.end();
    std::vector<std::string> values = option->results();
    if (values.empty()) {
      if (!with_defaults || !is_row || row->second.default_value.empty()) continue;
      values = {row->second.default_value};
    }
    const bool is_text =
        is_row ? row->second.kind == OptionKind::text : option->get_type_name().starts_with("TEXT");
    sections[table_->is_data(*option) ? "data" : own] +=
        (option->count() == 0 ? "# " : "") +
        job_line(key_of(*option), values, option->get_items_expected_max() > 1, is_text);
  }
  std::string text = "# ondine " + app_->get_name() + " --config FILE\n";
  for (const auto& [section, lines] : sections) text += "\n[" + section + "]\n" + lines;
  return text;
}

void Command::takes_job_file(const std::string& section) {
  table_->sections[app_] = section;
  for (const auto& [name, help] :
       {std::pair(job_option, "Job file in TOML: other options, which the command line overrides"),
        std::pair(write_option, "Write the options to a job file and do nothing else")}) {
    app_->add_option(name, table_->files.emplace_back(), help);
  }
}

void Command::runs(std::function<int()> action) {
  app_->callback([table = table_, action = std::move(action)] { table->chosen = action; });
}

}  // namespace ondine::cli
