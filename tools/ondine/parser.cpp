#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <utility>

#include <ondine/error.h>
#include <ondine/printable.h>
#include <ondine/replace_file.h>
#include <ondine/version.h>

#include "ondine/command.h"
#include "ondine/job_file.h"

namespace ondine::cli {
namespace {

constexpr int wrong_usage = 2;

// The value of the last "--config FILE" or "--config=FILE".
std::string job_file_of(const std::vector<std::string>& arguments) {
  std::string file;
  const std::string option = "--config";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) file = arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) file = arguments[i].substr(option.size() + 1);
  }
  return file;
}

// "--set train.epochs=3" becomes "--epochs=3".
std::vector<std::string> with_settings(std::vector<std::string> arguments,
                                       std::string_view command) {
  if (!takes_job_file(command)) return arguments;
  for (std::size_t i = 2; i + 1 < arguments.size(); ++i) {
    const std::string& text = arguments[i + 1];
    if (arguments[i] != "--set") continue;
    const std::size_t dot = text.find('.');
    const std::string section = text.substr(0, dot);
    if (dot == std::string::npos || (section != "data" && !takes_job_file(section))) continue;
    if (section != command && section != "data") {
      throw WrongUsage("--set " + text + ": '" + std::string(command) + "' reads the sections " +
                       std::string(command) + " and data");
    }
    arguments[i] = "--" + text.substr(dot + 1);
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

bool is_named(const OptionValues& values, const std::string& name) {
  return std::ranges::find(values, name, &OptionValues::value_type::first) != values.end();
}

// Whether the options were to be written, and are.
bool wrote_job(const CommandOptions& options) {
  if (!options.takes("write-config") || !options.has("write-config")) return false;
  const std::string file = options.text("write-config");
  const std::string text = job_text(options, false);
  replace_file(file, [&](std::ostream& out) { out << text; });
  std::cout << "wrote " << file << '\n';
  return true;
}

}  // namespace

Parser::Parser() : app_(std::make_unique<CLI::App>("Train ONNX models where they run.", "ondine")) {
  app_->allow_windows_style_options(false);  // /name is a path on every system
  app_->require_subcommand(1);
  app_->set_version_flag("--version", std::string("ondine ") + version(),
                         "Print the version and exit");
  app_->set_help_all_flag("--help-all",
                          "Help with rare options too; without a command, of all commands");
  app_->footer("See 'ondine COMMAND --help' for the options and examples of a command.");
}

Parser::~Parser() = default;

void Parser::add(std::string_view name, const std::string& description, const std::string& examples,
                 Run run) {
  commands_.push_back({name, description, "Examples:\n" + examples, std::move(run)});
}

const Parser::Entry* Parser::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(commands_, name, &Entry::name);
  return found == commands_.end() ? nullptr : &*found;
}

std::vector<CommandDefinition> Parser::definitions() const {
  std::vector<CommandDefinition> result;
  for (const Entry& command : commands_) {
    CommandDefinition one{std::string(command.name), command.description, command.examples};
    const auto table = command_table(command.name);
    for (const OptionInfo& option : table) {
      if (!option.hidden) one.options.push_back(definition_of(option, table));
    }
    result.push_back(std::move(one));
  }
  return result;
}

void Parser::declare(const Entry& command, bool hides_rare) {
  CLI::App* const app = app_->add_subcommand(std::string(command.name), command.description);
  std::size_t rare = 0;
  for (const OptionInfo& option : command_table(command.name)) {
    rare += option.rare ? 1U : 0U;
    declare(*app, option, option.hidden || (hides_rare && option.rare));
  }
  app->footer(rare == 0 || !hides_rare
                  ? command.examples
                  : std::to_string(rare) + " rare options: ondine " + std::string(command.name) +
                        " --help-all\n\n" + command.examples);
}

void Parser::declare(CLI::App& command, const OptionInfo& option, bool is_hidden) {
  const OptionDefinition shown = definition_of(option, command_table(command.get_name()));
  const auto take = [this, name = option.name](const std::string& value) {
    values_.emplace_back(name, value);
  };
  const auto add_option = [&](const std::string& names) {
    if (option.kind == OptionKind::flag) {
      return command.add_flag_function(
          names, [take](std::int64_t count) { take(count > 0 ? "true" : "false"); }, shown.help);
    }
    CLI::Option* added = nullptr;
    if (option.repeats) {
      added = command.add_option_function<std::vector<std::string>>(
          names, [take](const auto& values) { std::ranges::for_each(values, take); }, shown.help);
      added->allow_extra_args(option.several);
    } else {
      added = command.add_option_function<std::string>(names, take, shown.help);
    }
    added->type_name(shown.value);
    added->required(option.required && !is_named(from_job_, option.name));
    return added;
  };
  std::string all;
  for (const std::string& name : shown.names) all += (all.empty() ? "" : ",") + name;
  CLI::Option* const added = add_option(all);
  added->default_str(option.default_value);
  added->group(is_hidden ? "" : option.heading);
  for (const std::string& former : option.former) add_option("--" + former)->group("");
}

// Items of a job file become options that the command line does not give. Sections of other
// commands are theirs, but their keys must exist.
void Parser::read_job(const std::vector<std::string>& arguments, std::string_view command) {
  const std::string file = job_file_of(arguments);
  if (file.empty() || !takes_job_file(command)) return;
  for (const JobItem& item : read_job_file(file)) {
    const std::string section = item.section.empty() ? std::string(command) : item.section;
    const OptionInfo* const option = job_option(file, section, item, command);
    if (option == nullptr) continue;
    for (const std::string& value : item.values) from_job_.emplace_back(option->name, value);
    if (section == "data") shared_.push_back(option->name);
  }
}

CommandOptions Parser::parse(std::vector<std::string> arguments, const Entry* chosen) {
  const auto asks = [&](const char* word) {
    return std::ranges::find(arguments, word) != arguments.end();
  };
  if (chosen != nullptr) {
    arguments = with_settings(std::move(arguments), chosen->name);
    read_job(arguments, chosen->name);
  }
  const bool hides_rare = asks("--help") || asks("-h");
  // Declaring the options of all commands would take half of the start-up time.
  for (const Entry& command : commands_) {
    if (chosen == nullptr || chosen == &command) declare(command, hides_rare);
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  if (!reversed.empty()) reversed.pop_back();
  app_->parse(reversed);
  const OptionValues given = values_;
  std::erase_if(shared_, [&](const std::string& name) { return is_named(given, name); });
  for (auto& one : from_job_) {
    if (!is_named(given, one.first)) values_.push_back(one);
  }
  const std::string command = app_->get_subcommands().front()->get_name();
  CommandOptions options(command, values_, OptionSpelling::dashes, shared_);
  // Errors that only the conversion finds.
  load_options(options.of(OptionGroup::load), OptionSpelling::dashes);
  return options;
}

int Parser::report_wrong_usage(const std::string& message, const Entry* chosen) const {
  std::cerr << message << '\n';
  std::vector<std::string> candidates;
  std::vector<std::string> words = app_->remaining(true);
  if (chosen == nullptr) {
    for (const Entry& command : commands_) candidates.emplace_back(command.name);
    words.resize(std::min<std::size_t>(words.size(), 1));
    for (const std::string& word : words) {
      const std::string near = nearest_name(word, candidates);
      if (!near.empty()) std::cerr << "Did you mean 'ondine " << near << "'?\n";
    }
  } else {
    candidates.emplace_back("--help");
    std::vector<std::pair<std::string, std::string>> replaced;
    for (const OptionInfo& option : command_table(chosen->name)) {
      if (option.hidden || option.positional) continue;
      for (std::string& name : definition_of(option, command_table(chosen->name)).names)
        candidates.push_back(std::move(name));
      for (const std::string& one : option.replaces) replaced.emplace_back("--" + one, option.name);
    }
    for (const std::string& word : words) {
      const std::string given = word.substr(0, word.find('='));
      std::string near = given.starts_with("-") ? nearest_name(given, candidates) : "";
      for (const auto& [former, name] : replaced) {
        if (former == given) near = "--" + name;
      }
      if (!near.empty()) std::cerr << "Did you mean " << near << " instead of " << given << "?\n";
    }
  }
  std::cerr << "Run with --help for more information.\n";
  return wrong_usage;
}

int Parser::run(const std::vector<std::string>& arguments) {
  const Entry* const chosen = arguments.size() > 1 ? find(arguments[1]) : nullptr;
  std::optional<CommandOptions> options;
  try {
    options = parse(arguments, chosen);
  } catch (const CLI::Success& shown) {
    return app_->exit(shown, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    return report_wrong_usage(error.what(), chosen);
  } catch (const WrongUsage& error) {
    return report_wrong_usage(error.what(), chosen);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_option) throw;
    return report_wrong_usage(error.message(), chosen);
  }
  try {
    return wrote_job(*options) ? 0 : find(options->command())->run(*options);
  } catch (const WrongUsage& error) {
    std::cerr << error.what() << "\nRun with --help for more information.\n";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_option) throw;
    std::cerr << error.what() << "\nRun with --help for more information.\n";
  }
  return wrong_usage;
}

}  // namespace ondine::cli
