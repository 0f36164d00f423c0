#include "ondine/command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <type_traits>

#include <ondine/version.h>

namespace ondine::cli {
namespace {

constexpr int wrong_usage = 2;

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::between(int least, int most) {
  option_->check(CLI::Range(least, most));
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

Option Command::option(const std::string& names, Target to, const std::string& help) {
  return Option(std::visit(
      [&](auto* value) {
        if constexpr (std::is_same_v<decltype(value), bool*>) {
          return app_->add_flag(names, *value, help);
        } else {
          return app_->add_option(names, *value, help);
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
                       std::function<void(const std::string&)> take, const std::string& help) {
  // The description lists the choices already.
  return Option(app_->add_option_function<std::string>(names, take, help)
                    ->transform(CLI::IsMember(keys, CLI::ignore_case).description("")));
}

void Command::runs(std::function<int()> action) {
  app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

Parser::Parser() : app_(std::make_unique<CLI::App>("Train ONNX models where they run.", "ondine")) {
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
  return Command(command, &chosen_);
}

int Parser::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error, std::cout, std::cerr) == 0 ? 0 : wrong_usage;
  }
  try {
    return chosen_();
  } catch (const WrongUsage& error) {
    std::cerr << error.what() << "\nRun with --help for more information.\n";
    return wrong_usage;
  }
}

}  // namespace ondine::cli
