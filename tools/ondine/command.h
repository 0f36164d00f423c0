// The commands of the command line. Their options are those of the library's table
// (<ondine/commands.h>); a facade of CLI11, which only parser.cpp includes: its headers take
// seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/commands.h>

#include "ondine/describe/definitions.h"

namespace CLI {
class App;
}

namespace ondine::cli {

// Thrown by a command whose options contradict each other.
struct WrongUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Parser {
 public:
  Parser();
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // A command of the table; `run` returns the exit code.
  using Run = std::function<int(const CommandOptions&)>;
  void add(std::string_view name, const std::string& description, const std::string& examples,
           Run run);
  // Parses the arguments and runs the chosen command. Handles help and wrong usage. Returns the
  // exit code.
  int run(const std::vector<std::string>& arguments);

  // Commands with the options that the help shows.
  std::vector<CommandDefinition> definitions() const;

 private:
  struct Entry {
    std::string_view name;
    std::string description;
    std::string examples;
    Run run;
  };

  const Entry* find(std::string_view name) const noexcept;
  // Tells CLI11 the options of a command.
  void declare(const Entry& command, bool hides_rare);
  void declare(CLI::App& command, const OptionInfo& option, bool is_hidden);
  CommandOptions parse(std::vector<std::string> arguments, const Entry* chosen);
  int report_wrong_usage(const std::string& message, const Entry* chosen) const;
  void read_job(const std::vector<std::string>& arguments, std::string_view command);

  std::unique_ptr<CLI::App> app_;
  std::vector<Entry> commands_;
  OptionValues values_;              // that were given
  OptionValues from_job_;            // and those of a job file
  std::vector<std::string> shared_;  // names of a job file's options that several commands read
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
