// The table of options, for people and for bindings to other languages.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <ondine/commands.h>

#include "ondine/command.h"
#include "ondine/describe/markdown.h"

namespace ondine::cli {
namespace {

constexpr const char* options_introduction =
    "# Options\n\n"
    "`ondine options` prints this page from the table that the command line, job files, the C API\n"
    "and Python share (`include/ondine/options.h`). In C++ the names stand for the members of the\n"
    "structs named below.\n\n"
    "An option that has no effect is an error. Sizes take units (`512M`, `2GiB`; `K`, `M`, `G` "
    "and\n"
    "`T` are powers of 1024, `KB`, `MB`, `GB` and `TB` of 1000), times too (`500ms`, `90s`, "
    "`10m`,\n"
    "`1.5h`, `2d`).\n";

constexpr const char* commands_heading =
    "\n## Commands\n\n"
    "What the commands of the command line take: options above, and their own, which no structure\n"
    "has.\n";

const char* struct_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::load:
      return "LoadOptions";
    case OptionGroup::data:
      return "DatasetOptions";
    case OptionGroup::table:
      return "TableOptions";
    case OptionGroup::prepare:
      return "PrepareOptions";
    case OptionGroup::train:
      return "TrainerOptions";
    case OptionGroup::evaluate:
      return "EvaluateOptions";
    case OptionGroup::export_:
      return "ExportOptions";
    case OptionGroup::federate:
      return "FederatedOptions";
    case OptionGroup::generate:
      return "GenerateOptions";
    case OptionGroup::import_:
      return "ImportHuggingFaceOptions";
    case OptionGroup::network:
      return "NetworkOptions";
    case OptionGroup::budget:
      return "TrainBudget";
    case OptionGroup::finetune:
      return "FinetuneOptions";
    case OptionGroup::command:
      break;
  }
  return "none";
}

std::string range_of(const OptionInfo& option) {
  std::ostringstream text;
  if (option.low) text << (option.above_low ? "> " : "≥ ") << *option.low;
  if (option.low && option.high) text << ", ";
  if (option.high) text << (option.below_high ? "< " : "≤ ") << *option.high;
  return text.str();
}

std::string values_of(const OptionInfo& option) {
  if (!option.choices.empty()) return in_code(option.choices);
  if (option.positional) return option.repeats ? "arguments" : "argument";
  std::string text = option.kind == OptionKind::text ? option.value : to_string(option.kind);
  if (const std::string range = range_of(option); !range.empty()) text += " " + range;
  return text + (option.repeats ? ", repeats" : "");
}

std::string applies_of(const OptionInfo& option) {
  std::string text;
  for (const OptionCondition& one : option.applies) {
    text += text.empty() ? "" : " or ";
    text += "`" + one.option + "`" + (one.choices.empty() ? "" : ": " + in_code(one.choices));
  }
  if (!option.excludes.empty()) {
    text += std::string(text.empty() ? "" : "; ") + "not with " + in_code(option.excludes);
  }
  return text;
}

// The rows of one heading after another.
class OptionRows {
 public:
  void add(const OptionInfo& option) {
    if (option.heading != heading_) {
      heading_ = option.heading;
      text_ += "\n**" + heading_ +
               "**\n\n| option | values | default | applies with | meaning |\n"
               "|---|---|---|---|---|\n";
    }
    const std::string letter = option.letter == 0 ? "" : std::string(", `-") + option.letter + "`";
    text_ += "| `" + option.name + "`" + letter + (option.required ? ", required" : "") + " | " +
             cell(values_of(option)) + " | " + cell(option.default_value) + " | " +
             cell(applies_of(option)) + " | " + cell(option.help) + " |\n";
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string heading_;
  std::string text_;
};

// "all", "all but `a`" or "`a`, `b`".
std::string part_of(OptionGroup group, const std::vector<std::string>& names) {
  std::vector<std::string> others;
  for (const OptionInfo& option : option_table(group)) {
    if (std::ranges::find(names, option.name) == names.end()) others.push_back(option.name);
  }
  if (others.empty()) return "all";
  return others.size() < names.size() ? "all but " + in_code(others) : in_code(names);
}

// Lists the groups that a command has options of, and its own options.
std::string command_section(std::string_view command) {
  OptionRows rows;
  std::vector<std::pair<OptionGroup, std::vector<std::string>>> groups;
  for (const OptionInfo& option : command_table(command)) {
    if (option.hidden) continue;
    if (option.group == OptionGroup::command) {
      rows.add(option);
      continue;
    }
    auto group = std::ranges::find(groups, option.group, [](const auto& one) { return one.first; });
    if (group == groups.end()) group = groups.insert(group, {option.group, {}});
    group->second.push_back(option.name);
  }
  std::string text = "\n### " + std::string(command) + "\n";
  if (!groups.empty()) text += "\n| group | options |\n|---|---|\n";
  for (const auto& [group, names] : groups) {
    text += std::string("| [") + to_string(group) + "](#" + to_string(group) + ") | " +
            part_of(group, names) + " |\n";
  }
  return text + rows.text();
}

std::string page() {
  std::string text = options_introduction;
  for (const OptionGroup group : option_groups) {
    OptionRows rows;
    for (const OptionInfo& option : option_table(group)) rows.add(option);
    text +=
        std::string("\n## ") + to_string(group) + "\n\n`" + struct_of(group) + "`\n" + rows.text();
  }
  text += commands_heading;
  for (const std::string_view command : command_names()) text += command_section(command);
  return text;
}

nlohmann::ordered_json as_json() {
  auto table = nlohmann::ordered_json::parse(options_json());
  table["commands"] = nlohmann::ordered_json::parse(commands_json());
  return table;
}

}  // namespace

void add_options_command(Parser& parser) {
  parser.add("options", "Print the table of options that all languages share",
             "  ondine options > docs/options.md\n  ondine options --json\n",
             [](const CommandOptions& options) {
               std::cout << (options.has("json") ? as_json().dump() + "\n" : page());
               return 0;
             });
}

}  // namespace ondine::cli
