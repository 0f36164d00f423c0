#include <iostream>

#include <ondine/error.h>

#include "ondine/command.h"
#include "ondine/describe/definitions.h"

namespace ondine::cli {
namespace {

std::string joined(const std::vector<std::string>& words, const char* separator = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// In single quotes for a shell.
std::string quoted_word(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Text for _arguments and _describe, which give brackets and colons a meaning.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::vector<std::string> names_of(const std::vector<CommandDefinition>& commands) {
  std::vector<std::string> names;
  for (const CommandDefinition& one : commands) names.push_back(one.name);
  return names;
}

std::string bash_script(const std::vector<CommandDefinition>& commands) {
  std::string text =
      "_ondine() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '" +
      joined(names_of(commands)) +
      " --help --help-all --version' -- \"$word\"))\n    return\n  fi\n"
      "  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const CommandDefinition& command : commands) {
    for (const OptionDefinition& option : command.options) {
      if (option.positional || option.choices.empty()) continue;
      text += "    '" + command.name + " " + option.names.front() + "') COMPREPLY=($(compgen -W '" +
              joined(option.choices) + "' -- \"$word\")); return ;;\n";
    }
  }
  text +=
      "  esac\n  [[ $word == -* ]] || { COMPREPLY=($(compgen -f -- \"$word\")); return; }\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const CommandDefinition& command : commands) {
    std::vector<std::string> options{"--help"};
    for (const OptionDefinition& option : command.options) {
      if (!option.positional) {
        options.insert(options.end(), option.names.begin(), option.names.end());
      }
    }
    text += "    " + command.name + ") COMPREPLY=($(compgen -W '" + joined(options) +
            "' -- \"$word\")) ;;\n";
  }
  return text + "  esac\n}\ncomplete -o filenames -F _ondine ondine\n";
}

std::string zsh_option(const OptionDefinition& option, const std::string& name) {
  std::string text =
      std::string(option.repeats ? "*" : "") + name + "[" + zsh_text(option.help) + "]";
  if (option.value.empty()) return quoted_word(text);
  text += ":" + zsh_text(option.value) + ":";
  return quoted_word(text +
                     (option.choices.empty() ? "_files" : "(" + joined(option.choices) + ")"));
}

std::string zsh_script(const std::vector<CommandDefinition>& commands) {
  std::string text = "#compdef ondine\n_ondine() {\n  local -a commands=(\n";
  for (const CommandDefinition& command : commands) {
    text += "    " + quoted_word(command.name + ":" + zsh_text(command.description)) + "\n";
  }
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local name=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $name in\n";
  for (const CommandDefinition& command : commands) {
    text += "    " + command.name + ")\n      _arguments";
    for (const OptionDefinition& option : command.options) {
      if (option.positional) continue;
      for (const std::string& name : option.names)
        text += " \\\n        " + zsh_option(option, name);
    }
    text += " \\\n        '*:file:_files'\n      ;;\n";
  }
  return text + "  esac\n}\n_ondine \"$@\"\n";
}

std::string fish_script(const std::vector<CommandDefinition>& commands) {
  std::string text;
  for (const CommandDefinition& command : commands) {
    text += "complete -c ondine -n __fish_use_subcommand -f -a " + command.name + " -d " +
            quoted_word(command.description) + "\n";
    for (const OptionDefinition& option : command.options) {
      if (option.positional) continue;
      text += "complete -c ondine -n '__fish_seen_subcommand_from " + command.name + "'";
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.value.empty()) text += " -r";
      if (!option.choices.empty()) text += " -f -a " + quoted_word(joined(option.choices));
      text += " -d " + quoted_word(option.help) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell,
                              const std::vector<CommandDefinition>& commands) {
  if (shell == "bash") return bash_script(commands);
  return shell == "zsh" ? zsh_script(commands) : fish_script(commands);
}

void add_completion(Parser& parser) {
  parser.add("completion", "Print a script that completes commands and options",
             "  ondine completion bash > /etc/bash_completion.d/ondine\n"
             "  ondine completion zsh > ~/.zfunc/_ondine\n"
             "  ondine completion fish > ~/.config/fish/completions/ondine.fish\n",
             [&parser](const CommandOptions& options) {
               std::cout << completion_script(options.text("shell"), parser.definitions());
               return 0;
             });
}

}  // namespace ondine::cli
