#include <algorithm>
#include <iostream>

#include <ondine/error.h>
#include <ondine/version.h>

#include "ondine/command.h"
#include "ondine/describe/definitions.h"

namespace ondine::cli {
namespace {

// Text of a page: backslashes, dashes, and what would be a request at the start of a line.
std::string troff(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (text[i] == '.' || text[i] == '\'')) result += "\\&";
    if (text[i] == '\\') {
      result += "\\e";
    } else if (text[i] == '-') {
      result += "\\-";
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string option_entry(const OptionDefinition& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "\\fB" : ", \\fB") + troff(name) + "\\fR";
  }
  if (!option.value.empty() && !option.positional) names += " \\fI" + troff(option.value) + "\\fR";
  std::string text = ".TP\n" + names + "\n" + troff(option.help) + ".\n";
  if (!option.choices.empty()) {
    std::string list;
    for (const std::string& one : option.choices) list += (list.empty() ? "" : ", ") + one;
    text += "One of: " + troff(list) + ".\n";
  }
  if (!option.default_value.empty()) text += "Default: " + troff(option.default_value) + ".\n";
  if (option.required) text += "Required.\n";
  if (!option.conditions.empty()) {
    std::string sentence = option.conditions;
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    text += troff(sentence) + ".\n";
  }
  return text;
}

std::string heading(const std::string& page) {
  std::string name = page;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return ".TH " + name + " 1 \"\" \"Ondine " + version() + "\" \"User Commands\"\n";
}

std::string exit_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitStatus& one : exit_statuses) {
    text += std::string(".TP\n") + one.code + "\n" + troff(one.meaning) + "\n";
  }
  return text;
}

std::string program_page(const std::vector<CommandDefinition>& commands) {
  std::string text = heading("ondine") +
                     ".SH NAME\nondine \\- train ONNX models where they run\n"
                     ".SH SYNOPSIS\n\\fBondine\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
                     ".SH COMMANDS\n";
  for (const CommandDefinition& command : commands) {
    text += ".TP\n\\fB" + troff(command.name) + "\\fR\n" + troff(command.description) + ".\n";
  }
  return text + exit_section() +
         ".SH SEE ALSO\n\\fBondine man\\fR \\fICOMMAND\\fR prints the page of a command.\n";
}

std::string command_page(const CommandDefinition& command) {
  std::string text = heading("ondine-" + command.name) + ".SH NAME\nondine\\-" +
                     troff(command.name) + " \\- " + troff(command.description) +
                     "\n.SH SYNOPSIS\n\\fBondine " + troff(command.name) + "\\fR";
  for (const OptionDefinition& option : command.options) {
    if (option.positional) text += " \\fI" + troff(option.names.front()) + "\\fR";
  }
  text += " [\\fIOPTIONS\\fR]\n.SH OPTIONS\n";
  for (const OptionDefinition& option : command.options) text += option_entry(option);
  return text + exit_section() + ".SH EXAMPLES\n.nf\n" + troff(command.footer) + ".fi\n";
}

}  // namespace

std::string manual_page(const std::string& command,
                        const std::vector<CommandDefinition>& commands) {
  if (command.empty()) return program_page(commands);
  std::vector<std::string> names;
  for (const CommandDefinition& one : commands) {
    if (one.name == command) return command_page(one);
    names.push_back(one.name);
  }
  const std::string near = nearest_name(command, names);
  throw WrongUsage("there is no command '" + command + "'" +
                   (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

void add_manual(Parser& parser) {
  parser.add("man", "Print a manual page",
             "  ondine man train | man -l -\n"
             "  ondine man\n"
             "  ondine man --markdown > docs/commands.md\n",
             [&parser](const CommandOptions& options) {
               std::cout << (options.has("markdown")
                                 ? commands_page(parser.definitions())
                                 : manual_page(options.text("command"), parser.definitions()));
               return 0;
             });
}

}  // namespace ondine::cli
