#include "ondine/describe/definitions.h"
#include "ondine/describe/markdown.h"

namespace ondine::cli {
namespace {

constexpr const char* commands_introduction =
    "# Commands\n\n"
    "`ondine man --markdown` prints this page. `ondine COMMAND --help` shows the usual options of "
    "a\n"
    "command, `--help-all` all of them, `ondine man COMMAND` the manual page. "
    "[options.md](options.md)\n"
    "says which options apply together, and how other languages spell them.\n\n"
    "| exit status | meaning |\n|---|---|\n";

std::string usage(const CommandDefinition& command) {
  std::string text = "ondine " + command.name;
  for (const OptionDefinition& option : command.options) {
    if (!option.positional) continue;
    const std::string name = option.names.front() + (option.repeats ? "..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text;
}

std::string value_of(const OptionDefinition& option) {
  if (!option.choices.empty()) return in_code(option.choices);
  if (option.positional) return {};
  return option.value.empty() ? "flag" : option.value + (option.repeats ? ", repeats" : "");
}

// Without its first line, "Examples:".
std::string examples(const CommandDefinition& command) {
  if (command.footer.empty()) return {};
  return "\n```sh\n" + command.footer.substr(command.footer.find('\n') + 1) + "```\n";
}

std::string row(const OptionDefinition& option) {
  return "| " + in_code(option.names) + (option.required ? ", required" : "") + " | " +
         cell(value_of(option)) + " | " + cell(option.default_value) + " | " + cell(option.help) +
         " |\n";
}

}  // namespace

std::string commands_page(const std::vector<CommandDefinition>& commands) {
  std::string text = commands_introduction;
  for (const ExitStatus& one : exit_statuses) {
    text += std::string("| ") + one.code + " | " + one.meaning + " |\n";
  }
  for (const CommandDefinition& command : commands) {
    text += "\n## " + command.name + "\n\n" + command.description + ".\n\n```\n" + usage(command) +
            "\n```\n\n| option | value | default | meaning |\n|---|---|---|---|\n";
    for (const OptionDefinition& option : command.options) text += row(option);
    text += examples(command);
  }
  return text;
}

}  // namespace ondine::cli
