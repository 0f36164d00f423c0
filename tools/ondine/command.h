// Parser of commands and options. A facade of CLI11, which only command.cpp includes: its headers
// take seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <ondine/options.h>

#include "ondine/describe/definitions.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ondine::cli {

// Handle of an option; valid as long as the parser.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& positive();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  Option& one_each();  // of a list: one value each time that the option is given
  Option& hidden();    // not shown in the help

  std::string name() const;  // "--name"
  bool given() const;        // after parsing

 private:
  CLI::Option* option_;
};

// The destination of an option's value. An option with a bool destination is a flag.
using Target = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, float*, double*,
                            std::string*, std::vector<std::string>*, std::optional<float>*,
                            std::optional<std::uint64_t>*, std::optional<std::int64_t>*>;

// Thrown by a command whose options contradict each other.
struct WrongUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Facts about the commands that CLI11 does not keep.
struct ParserTable;

class Command {
 public:
  explicit Command(CLI::App* app, ParserTable* table) : app_(app), table_(table) {}

  // `names` is "--name", "-n,--name" or, for a positional argument, "NAME". `to` must outlive
  // parsing.
  Option option(const std::string& names, Target to, const std::string& help);
  // An option whose value is one of the keys, ignoring case; the help shows the present value.
  template <class Value>
  Option choice(const std::string& names, Value* to, const std::map<std::string, Value>& values,
                const std::string& help) {
    std::vector<std::string> keys;
    std::string present;
    for (const auto& [key, value] : values) {
      keys.push_back(key);
      if constexpr (std::is_enum_v<Value>) {
        if (present.empty() && value == *to) present = key;
      }
    }
    const auto take = [to, values](const std::string& key) { *to = values.at(key); };
    return choose(names, keys, take, help, present);
  }
  // Adds the options of a group of the library's table: those of `only`, unless it is empty, but
  // for those of `except`. `take` is called with each value that is given.
  using TakeValue = std::function<void(const std::string& name, const std::string& value)>;
  using Names = std::initializer_list<std::string_view>;
  void table(OptionGroup group, const TakeValue& take, Names only = {}, Names except = {});
  // Adds the options likewise and stores the values in `values`, which must outlive parsing and are
  // checked after it.
  void table(OptionGroup group, OptionValues& values, Names only = {}, Names except = {});
  // An option that was added; `name` is "--name".
  Option find(const std::string& name) const;
  // `former` is no option any more; the error for it names the one that took its place.
  void renamed(const std::string& former, const std::string& name);
  // Whether the job file has the option, which other commands may be meant to read.
  bool is_from_job(const std::string& name) const;
  // Options that are added now stand under it in the help.
  void heading(const std::string& text);
  // After parsing: the options that were given as a job file, and the defaults of others as
  // comments.
  std::string job_text(bool with_defaults) const;
  // Adds --config and --write-config: a file in TOML with the other options, which the command line
  // overrides. `section` is that of the command; data has its own.
  void takes_job_file(const std::string& section);
  // Sets the action of the command, which runs after parsing and returns the exit code.
  void runs(std::function<int()> action);

 private:
  Option choose(const std::string& names, const std::vector<std::string>& keys,
                std::function<void(const std::string&)> take, const std::string& help,
                const std::string& present);

  void add_row(const OptionInfo& info, const TakeValue& take);
  void add_former(const OptionInfo& info, const TakeValue& take);

  CLI::App* app_;
  ParserTable* table_;
};

class Parser {
 public:
  Parser();
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Command add(const std::string& name, const std::string& description, const std::string& examples);
  // Parses the arguments and runs the chosen command. Handles help and wrong usage. Returns the
  // exit code.
  int run(int argc, char** argv);

  // Commands with the options that the help shows.
  std::vector<CommandDefinition> definitions() const;

 private:
  // Whether the options were to be written, and are.
  bool wrote_job() const;
  int report_wrong_usage(const std::string& message) const;
  void read_job(const std::vector<std::string>& arguments);
  // Options of sections that --set gives become options of the command.
  std::vector<std::string> with_settings(std::vector<std::string> arguments) const;
  void hide_rare();
  CLI::App* command_of(const std::string& name) const;  // null if there is none

  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<ParserTable> table_;
};

void add_info(Parser& parser);
void add_check(Parser& parser);
void add_inspect(Parser& parser);
void add_prepare(Parser& parser);
void add_train(Parser& parser);
void add_infer(Parser& parser);
void add_eval(Parser& parser);
void add_export(Parser& parser);
void add_finetune(Parser& parser);
void add_federate(Parser& parser);
void add_generate(Parser& parser);
void add_new(Parser& parser);
void add_verify(Parser& parser);
void add_replay(Parser& parser);
void add_bench(Parser& parser);
void add_gradcheck(Parser& parser);
void add_import_hf(Parser& parser);
void add_import_ort(Parser& parser);
void add_lower(Parser& parser);
void add_differentiate(Parser& parser);
void add_doctor(Parser& parser);
void add_completion(Parser& parser);
void add_manual(Parser& parser);
void add_options_command(Parser& parser);

}  // namespace ondine::cli
