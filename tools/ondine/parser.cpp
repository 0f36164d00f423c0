#include <algorithm>
#include <iostream>

#include <ondine/error.h>
#include <ondine/printable.h>
#include <ondine/replace_file.h>
#include <ondine/version.h>

#include "ondine/command.h"
#include "ondine/job_file.h"
#include "ondine/parser_table.h"

namespace ondine::cli {
namespace {

constexpr int wrong_usage = 2;

// Hands over what was read already.
class ReadItems final : public CLI::Config {
 public:
  explicit ReadItems(std::vector<CLI::ConfigItem> read) : read_(std::move(read)) {}
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }
  std::vector<CLI::ConfigItem> from_config(std::istream&) const override { return read_; }

 private:
  std::vector<CLI::ConfigItem> read_;
};

}  // namespace

Parser::Parser()
    : app_(std::make_unique<CLI::App>("Train ONNX models where they run.", "ondine")),
      table_(std::make_unique<ParserTable>()) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", std::string("ondine ") + version(),
                         "Print the version and exit");
  app_->set_help_all_flag("--help-all",
                          "Help with rare options too; without a command, of all commands");
  app_->footer("See 'ondine COMMAND --help' for the options and examples of a command.");
}

Parser::~Parser() = default;

Command Parser::add(const std::string& name, const std::string& description,
                    const std::string& examples) {
  CLI::App* command = app_->add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  return Command(command, table_.get());
}

std::vector<CommandDefinition> Parser::definitions() const {
  std::vector<CommandDefinition> result;
  for (const CLI::App* command : app_->get_subcommands(nullptr)) {
    CommandDefinition& one = result.emplace_back();
    one.name = command->get_name();
    one.description = command->get_description();
    one.footer = command->get_footer();
    for (const CLI::Option* option : command->get_options()) {
      if (!is_shown(*option) || is_help(*option)) continue;
      OptionDefinition& added = one.options.emplace_back();
      added.names = option_names(*option);
      added.help = option->get_description();
      const bool is_flag = option->get_items_expected_max() == 0;
      added.value = is_flag ? "" : option->get_type_name();
      if (!is_flag && added.value.empty()) added.value = "VALUE";
      added.default_value = option->get_default_str();
      const auto choices = table_->choices.find(option);
      if (choices != table_->choices.end()) added.choices = choices->second;
      added.required = option->get_required();
      added.repeats = option->get_items_expected_max() > 1;
      added.positional = option->get_positional();
    }
  }
  return result;
}

bool Parser::wrote_job() const {
  for (CLI::App* command : app_->get_subcommands()) {
    const CLI::Option* option = command->get_option_no_throw(write_option);
    if (option == nullptr || option->count() == 0) continue;
    const std::string file = option->results().front();
    const std::string text = Command(command, table_.get()).job_text(false);
    replace_file(file, [&](std::ostream& out) { out << text; });
    std::cout << "wrote " << file << '\n';
    return true;
  }
  return false;
}

namespace {

// The value of the last "--config FILE" or "--config=FILE".
std::string job_file_of(const std::vector<std::string>& arguments) {
  std::string file;
  const std::string with_value = std::string(job_option) + "=";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == job_option && i + 1 < arguments.size()) file = arguments[i + 1];
    if (arguments[i].starts_with(with_value)) file = arguments[i].substr(with_value.size());
  }
  return file;
}

struct SectionKeys {
  std::map<std::string, CLI::Option*> options;  // of the command
  std::vector<std::string> keys;                // of all commands
};

// The keys of each section of a job file.
std::map<std::string, SectionKeys> keys_of(const ParserTable& table, const CLI::App* command) {
  std::map<std::string, SectionKeys> sections;
  for (const auto& [app, section] : table.sections) {
    for (CLI::Option* option : app->get_options()) {
      if (!is_in_jobs(*option)) continue;
      const std::string key = key_of(*option);
      const auto add = [&, one = app](const std::string& to) {
        sections[to].keys.push_back(key);
        if (one == command) sections[to].options[key] = option;
      };
      add(section);
      if (table.is_data(*option)) add("data");
    }
  }
  return sections;
}

[[noreturn]] void refuse_key(const std::string& file, const JobItem& item,
                             const std::string& command, const std::vector<std::string>& keys) {
  const std::string near = nearest_name(item.key, keys);
  throw Error(ErrorCode::mismatch, "job file '" + printable(file) + "': '" + printable(item.key) +
                                       "' is no option of '" + command + "'" +
                                       (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

}  // namespace

CLI::App* Parser::command_of(const std::string& name) const {
  for (CLI::App* command : app_->get_subcommands(nullptr)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// Items of a job file become options that the command line does not give. Sections of other
// commands are theirs, but their keys must exist.
void Parser::read_job(const std::vector<std::string>& arguments) {
  const std::string file = job_file_of(arguments);
  if (file.empty()) return;
  CLI::App* const command = command_of(arguments[0]);
  if (command == nullptr || command->get_option_no_throw(job_option) == nullptr) return;
  const std::map<std::string, SectionKeys> sections = keys_of(*table_, command);
  const std::string& own = table_->sections.at(command);
  std::vector<CLI::ConfigItem> items;
  for (const JobItem& item : read_job_file(file)) {
    const std::string section = item.section.empty() ? own : item.section;
    const auto known = sections.find(section);
    if (known == sections.end()) {
      throw Error(ErrorCode::mismatch, "job file '" + printable(file) + "': there is no section [" +
                                           printable(section) + "]");
    }
    const auto& keys = known->second.keys;
    if (std::find(keys.begin(), keys.end(), item.key) == keys.end()) {
      refuse_key(file, item, section, keys);
    }
    const auto option = known->second.options.find(item.key);
    if (option == known->second.options.end()) continue;
    CLI::ConfigItem& added = items.emplace_back();
    added.name = option_names(*option->second).front();
    if (added.name.starts_with("--")) added.name.erase(0, 2);
    added.parents = {command->get_name()};
    added.inputs = item.values;
    table_->from_job.insert("--" + added.name);
  }
  app_->config_formatter(std::make_shared<ReadItems>(std::move(items)));
  app_->set_config("--job-file", file)->group("");
}

// "--set train.epochs=3" becomes "--epochs=3".
std::vector<std::string> Parser::with_settings(std::vector<std::string> arguments) const {
  CLI::App* const command = command_of(arguments[1]);
  const auto own = table_->sections.find(command);
  if (own == table_->sections.end()) return arguments;
  for (std::size_t i = 2; i + 1 < arguments.size(); ++i) {
    const std::string& text = arguments[i + 1];
    if (arguments[i] != "--set") continue;
    const std::size_t dot = text.find('.');
    const std::string section = text.substr(0, dot);
    const bool is_section =
        std::any_of(table_->sections.begin(), table_->sections.end(),
                    [&](const auto& one) { return one.second == section || section == "data"; });
    if (dot == std::string::npos || !is_section) continue;
    if (section != own->second && section != "data") {
      throw WrongUsage("--set " + text + ": '" + command->get_name() + "' reads the sections " +
                       own->second + " and data");
    }
    arguments[i] = "--" + text.substr(dot + 1);
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

void Parser::hide_rare() {
  for (CLI::App* command : app_->get_subcommands(nullptr)) {
    std::size_t hidden = 0;
    for (CLI::Option* option : command->get_options()) {
      const auto row = table_->rows.find(option);
      if (row == table_->rows.end() || !row->second.rare) continue;
      option->group("");
      ++hidden;
    }
    if (hidden == 0) continue;
    command->footer(std::to_string(hidden) + " rare options: ondine " + command->get_name() +
                    " --help-all\n\n" + command->get_footer());
  }
}

int Parser::report_wrong_usage(const std::string& message) const {
  std::cerr << message << '\n';
  std::vector<std::string> commands;
  for (const CommandDefinition& command : definitions()) {
    commands.push_back(command.name);
    const CLI::App& app = *app_->get_subcommand(command.name);
    if (app.count() == 0) continue;
    std::vector<std::string> names{"--help"};
    for (const OptionDefinition& option : command.options) {
      if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
    }
    for (const std::string& word : app_->remaining(true)) {
      const std::string given = word.substr(0, word.find('='));
      std::string near = given.starts_with("-") ? nearest_name(given, names) : "";
      if (const auto renamed = table_->renamed.find(&app); renamed != table_->renamed.end()) {
        const auto now = renamed->second.find(given);
        if (now != renamed->second.end()) near = now->second;
      }
      if (!near.empty()) std::cerr << "Did you mean " << near << " instead of " << given << "?\n";
    }
  }
  for (const std::string& word : app_->remaining(true)) {
    const std::string near = nearest_name(word, commands);
    if (!near.empty() && app_->get_subcommands().empty()) {
      std::cerr << "Did you mean 'ondine " << near << "'?\n";
    }
    break;
  }
  std::cerr << "Run with --help for more information.\n";
  return wrong_usage;
}

int Parser::run(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  const auto asks = [&](const char* word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  try {
    if (argc > 2) {
      arguments = with_settings(std::move(arguments));
      read_job({arguments.begin() + 1, arguments.end()});
    }
    if (asks("--help") || asks("-h")) hide_rare();
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    if (!reversed.empty()) reversed.pop_back();
    app_->parse(reversed);
    for (CLI::App* command : app_->get_subcommands()) {
      for (const auto& check : table_->checks[command]) check();
    }
  } catch (const CLI::Success& shown) {
    return app_->exit(shown, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    // CLI11 puts a colon between an option and what it needs.
    std::string text = error.what();
    if (const std::size_t at = text.find(": needs "); at != std::string::npos) text.erase(at, 1);
    return report_wrong_usage(text);
  } catch (const WrongUsage& error) {
    return report_wrong_usage(error.what());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_option) throw;
    return report_wrong_usage(error.message());
  }
  try {
    return wrote_job() ? 0 : table_->chosen();
  } catch (const WrongUsage& error) {
    std::cerr << error.what() << "\nRun with --help for more information.\n";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_option) throw;
    std::cerr << error.what() << "\nRun with --help for more information.\n";
  }
  return wrong_usage;
}

}  // namespace ondine::cli
