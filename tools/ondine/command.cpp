#include "ondine/command.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <list>
#include <sstream>
#include <system_error>
#include <type_traits>

#include <ondine/error.h>
#include <ondine/printable.h>
#include <ondine/replace_file.h>
#include <ondine/version.h>

namespace ondine::cli {
namespace {

constexpr int wrong_usage = 2;
constexpr const char* job_option = "--config";
constexpr const char* write_option = "--write-config";

// Hands over what was read already.
class ReadItems final : public CLI::Config {
 public:
  explicit ReadItems(std::vector<CLI::ConfigItem> read) : read_(std::move(read)) {}
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }
  std::vector<CLI::ConfigItem> from_config(std::istream&) const override { return read_; }

 private:
  std::vector<CLI::ConfigItem> read_;
};

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  if (option.get_positional()) names.push_back(option.get_name(true));
  return names;
}

// As in a job file: without dashes, positional arguments in lower case.
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

// Regular files only: a device or a pipe may never end.
std::string read_job_file(const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::io, "cannot read the job file '" + printable(file) + "': " + why);
  };
  // O_NONBLOCK: opening a pipe would wait for a writer.
  const int fd = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) refuse(std::generic_category().message(errno));
  const std::unique_ptr<FILE, int (*)(FILE*)> opened(::fdopen(fd, "r"), std::fclose);
  struct stat facts {};
  if (!opened || ::fstat(fd, &facts) != 0) refuse(std::generic_category().message(errno));
  if (!S_ISREG(facts.st_mode)) refuse("it is not a regular file");
  constexpr std::size_t most = std::size_t{1} << 20;
  std::string text(most + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), opened.get()));
  if (std::ferror(opened.get()) != 0) refuse(std::generic_category().message(errno));
  if (text.size() > most) refuse("it has more than 1 MiB");
  return text;
}

// In TOML; numbers and booleans as such.
std::string toml_value(const std::string& text, bool is_text) {
  double number = 0;
  const bool is_number = !is_text && CLI::detail::lexical_cast(text, number);
  if (is_number || (!is_text && (text == "true" || text == "false"))) return text;
  if (text.find_first_of("\"\\") == std::string::npos) return "\"" + text + "\"";
  if (text.find('\'') != std::string::npos || text.find('\n') != std::string::npos) {
    throw Error(ErrorCode::mismatch, "a job file cannot hold the text " + text);
  }
  return "'" + text + "'";
}

}  // namespace

struct ParserTable {
  std::function<int()> chosen;
  std::map<const CLI::Option*, std::vector<std::string>> choices;
  std::list<std::string> files;  // of --config and --write-config
};

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

Option& Option::between(int least, int most) {
  const std::string needed =
      "needs a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  option_->check(CLI::Validator(
      [=](const std::string& text) {
        int number = 0;
        const bool fits =
            CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
        return fits ? std::string() : needed;
      },
      "INT in [" + std::to_string(least) + " - " + std::to_string(most) + "]"));
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

Option Command::number(const std::string& names, std::function<void(double)> take,
                       const std::string& help) {
  return Option(app_->add_option_function<double>(names, take, help));
}

Option Command::list(const std::string& names,
                     std::function<void(const std::vector<std::string>&)> take,
                     const std::string& help) {
  return Option(app_->add_option_function<std::vector<std::string>>(names, take, help));
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

void Command::takes_job_file() {
  for (const auto& [name, help] :
       {std::pair(job_option, "Job file in TOML: other options, which the command line overrides"),
        std::pair(write_option, "Write the options to a job file and do nothing else")}) {
    app_->add_option(name, table_->files.emplace_back(), help);
  }
}

void Command::runs(std::function<int()> action) {
  app_->callback([table = table_, action = std::move(action)] { table->chosen = action; });
}

Parser::Parser()
    : app_(std::make_unique<CLI::App>("Train ONNX models where they run.", "ondine")),
      table_(std::make_unique<ParserTable>()) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", std::string("ondine ") + version(),
                         "Print the version and exit");
  app_->set_help_all_flag("--help-all", "Help of all commands");
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

std::string Parser::job_text() const {
  std::string text;
  for (const CLI::App* command : app_->get_subcommands()) {
    text += "# ondine " + command->get_name() + " --config FILE\n";
    for (const CLI::Option* option : command->get_options()) {
      if (!is_in_jobs(*option) || option->count() == 0) continue;
      const bool is_text = option->get_type_name().starts_with("TEXT");
      std::string values;
      for (const std::string& value : option->results()) {
        values += (values.empty() ? "" : ", ") + toml_value(value, is_text);
      }
      const bool repeats = option->get_items_expected_max() > 1;
      text += key_of(*option) + " = " + (repeats ? "[" + values + "]" : values) + "\n";
    }
  }
  return text;
}

bool Parser::wrote_job() const {
  for (const CLI::App* command : app_->get_subcommands()) {
    const CLI::Option* option = command->get_option_no_throw(write_option);
    if (option == nullptr || option->count() == 0) continue;
    const std::string file = option->results().front();
    const std::string text = job_text();
    replace_file(file, [&](std::ostream& out) { out << text; });
    std::cout << "wrote " << file << '\n';
    return true;
  }
  return false;
}

// Items of a job file become options that the command line does not give.
void Parser::read_job(const std::vector<std::string>& arguments) {
  std::string file;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& one = arguments[i];
    if (one == job_option && i + 1 < arguments.size()) file = arguments[i + 1];
    if (one.starts_with(std::string(job_option) + "=")) file = one.substr(9);
  }
  CLI::App* command = nullptr;
  for (CLI::App* one : app_->get_subcommands([](CLI::App*) { return true; })) {
    if (one->get_name() == arguments[0]) command = one;
  }
  if (file.empty() || command == nullptr) return;
  if (command->get_option_no_throw(job_option) == nullptr) return;
  std::map<std::string, CLI::Option*> options;
  std::vector<std::string> keys;
  for (CLI::Option* option : command->get_options()) {
    if (!is_in_jobs(*option)) continue;
    options[key_of(*option)] = option;
    keys.push_back(key_of(*option));
  }
  std::vector<CLI::ConfigItem> items;
  std::istringstream text(read_job_file(file));
  items = CLI::ConfigTOML().from_config(text);
  for (CLI::ConfigItem& item : items) {
    const auto found = options.find(item.fullname());
    if (found == options.end()) {
      const std::string near = nearest(item.fullname(), keys);
      throw Error(ErrorCode::mismatch, "job file '" + printable(file) + "': '" +
                                           printable(item.fullname()) + "' is no option of '" +
                                           command->get_name() + "'" +
                                           (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    item.name = option_names(*found->second).front();
    if (item.name.starts_with("--")) item.name.erase(0, 2);
    item.parents = {command->get_name()};
  }
  app_->config_formatter(std::make_shared<ReadItems>(std::move(items)));
  app_->set_config("--job-file", file)->group("");
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
      const std::string near = given.starts_with("-") ? nearest(given, names) : "";
      if (!near.empty()) std::cerr << "Did you mean " << near << " instead of " << given << "?\n";
    }
  }
  for (const std::string& word : app_->remaining(true)) {
    const std::string near = nearest(word, commands);
    if (!near.empty() && app_->get_subcommands().empty()) {
      std::cerr << "Did you mean 'ondine " << near << "'?\n";
    }
    break;
  }
  std::cerr << "Run with --help for more information.\n";
  return wrong_usage;
}

int Parser::run(int argc, char** argv) {
  try {
    if (argc > 2) read_job({argv + 1, argv + argc});
    app_->parse(argc, argv);
  } catch (const CLI::Success& shown) {
    return app_->exit(shown, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    // CLI11 puts a colon between an option and what it needs.
    std::string text = error.what();
    if (const std::size_t at = text.find(": needs "); at != std::string::npos) text.erase(at, 1);
    return report_wrong_usage(text);
  }
  try {
    return wrote_job() ? 0 : table_->chosen();
  } catch (const WrongUsage& error) {
    std::cerr << error.what() << "\nRun with --help for more information.\n";
    return wrong_usage;
  }
}

}  // namespace ondine::cli
