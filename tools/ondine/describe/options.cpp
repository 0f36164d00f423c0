// The table of options, for people and for bindings to other languages.
#include <iostream>
#include <memory>
#include <sstream>

#include <ondine/options.h>

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
      break;
  }
  return "FinetuneOptions";
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

std::string page() {
  std::string text = options_introduction;
  for (const OptionGroup group : option_groups) {
    text += std::string("\n## ") + to_string(group) + "\n\n`" + struct_of(group) + "`\n";
    std::string heading;
    for (const OptionInfo& option : option_table(group)) {
      if (option.heading != heading) {
        heading = option.heading;
        text += "\n**" + heading +
                "**\n\n| option | values | default | applies with | meaning |\n"
                "|---|---|---|---|---|\n";
      }
      const std::string letter =
          option.letter == 0 ? "" : std::string(", `-") + option.letter + "`";
      text += "| `" + option.name + "`" + letter + " | " + cell(values_of(option)) + " | " +
              cell(option.default_value) + " | " + cell(applies_of(option)) + " | " +
              cell(option.help) + " |\n";
    }
  }
  return text;
}

}  // namespace

void add_options_command(Parser& parser) {
  auto as_json = std::make_shared<bool>(false);
  Command command = parser.add("options", "Print the table of options that all languages share",
                               "  ondine options > docs/options.md\n  ondine options --json\n");
  command.option("--json", as_json.get(), "Print JSON");
  command.runs([as_json] {
    std::cout << (*as_json ? options_json() + "\n" : page());
    return 0;
  });
}

}  // namespace ondine::cli
