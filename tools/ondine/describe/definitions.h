// Commands and options as the help, completion and manual pages show them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ondine/options.h>

namespace ondine::cli {

struct OptionDefinition {
  std::vector<std::string> names;  // "--name" first, then "-n"; of a positional argument "NAME"
  std::string help;
  std::string value;          // what it takes: "FILE", "N", ...; empty for a flag and an argument
  std::string default_value;  // empty where there is none
  std::vector<std::string> choices;
  bool required = false;
  bool repeats = false;
  bool positional = false;
  std::string conditions =
      {};  // "applies with --head; excludes --lora"; empty where there are none
};

// An option of a command, which has the table.
OptionDefinition definition_of(const OptionInfo& option, std::span<const OptionInfo> table);

struct CommandDefinition {
  std::string name;
  std::string description;
  std::string footer;  // examples
  std::vector<OptionDefinition> options = {};
};

struct ExitStatus {
  const char* code;
  const char* meaning;
};
inline constexpr ExitStatus exit_statuses[] = {
    {"0", "Success."},
    {"1", "Failure; one message on standard error says why."},
    {"2", "Wrong usage: an unknown or contradicting option, or a missing argument."},
    {"130", "Interrupted by SIGINT (Ctrl-C) after the checkpoint was saved."},
    {"143", "Ended by SIGTERM after the checkpoint was saved."}};

// A script for "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell,
                              const std::vector<CommandDefinition>& commands);

// Manual page of a command in the troff format, or with an empty name that of the program.
std::string manual_page(const std::string& command, const std::vector<CommandDefinition>& commands);

// All commands and their options in Markdown: docs/commands.md.
std::string commands_page(const std::vector<CommandDefinition>& commands);

}  // namespace ondine::cli
