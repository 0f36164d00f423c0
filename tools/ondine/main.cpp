// The command line. Exit codes: 0 success, 1 failure with one message, 2 wrong usage, 130 and 143
// for runs that SIGINT and SIGTERM ended.
#include <algorithm>
#include <exception>
#include <iostream>
#include <string_view>
#include <vector>

#include <ondine/error.h>

#include "ondine/command.h"
#include "ondine/standard_streams.h"

namespace {

struct CommandEntry {
  std::string_view name;
  void (*add)(ondine::cli::Parser&);
};

constexpr CommandEntry commands[] = {
    {"info", ondine::cli::add_info},           {"check", ondine::cli::add_check},
    {"inspect", ondine::cli::add_inspect},     {"prepare", ondine::cli::add_prepare},
    {"finetune", ondine::cli::add_finetune},   {"new", ondine::cli::add_new},
    {"federate", ondine::cli::add_federate},   {"train", ondine::cli::add_train},
    {"infer", ondine::cli::add_infer},         {"generate", ondine::cli::add_generate},
    {"eval", ondine::cli::add_eval},           {"export", ondine::cli::add_export},
    {"verify", ondine::cli::add_verify},       {"bench", ondine::cli::add_bench},
    {"gradcheck", ondine::cli::add_gradcheck}, {"doctor", ondine::cli::add_doctor},
    {"lower", ondine::cli::add_lower},         {"differentiate", ondine::cli::add_differentiate},
    {"import-hf", ondine::cli::add_import_hf}, {"import-ort", ondine::cli::add_import_ort},
    {"replay", ondine::cli::add_replay},       {"completion", ondine::cli::add_completion},
    {"man", ondine::cli::add_manual},          {"options", ondine::cli::add_options_command},
};

// Job files and --set can name options of any command; completion, man and options describe all.
bool needs_all_commands(const std::vector<std::string_view>& arguments) {
  if (arguments.empty()) return true;
  const std::string_view first = arguments.front();
  if (first == "completion" || first == "man" || first == "options") return true;
  const bool is_known =
      std::ranges::any_of(commands, [&](const auto& one) { return one.name == first; });
  return !is_known || std::ranges::any_of(arguments, [](std::string_view word) {
    return word.starts_with("--config") || word.starts_with("--write-config") ||
           word.starts_with("--set");
  });
}

// Declaring the options of all commands would take half of the start-up time.
int run(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  const bool adds_all = needs_all_commands(arguments);
  ondine::cli::Parser parser;
  for (const CommandEntry& command : commands) {
    if (adds_all || command.name == arguments.front()) command.add(parser);
  }
  return parser.run(argc, argv);
}

}  // namespace

// As a library, it shares the code of the engine with the extension of Python
// (tools/CMakeLists.txt).
#ifdef ONDINE_COMMAND_LIBRARY
extern "C" __attribute__((visibility("default"))) int ondine_command_line(int argc, char** argv) {
#else
int main(int argc, char** argv) {
#endif
  if (!ondine::cli::open_missing_descriptors()) return ondine::cli::failed;
  ondine::cli::StandardStreams streams;
  try {
    return streams.finish(run(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "ondine: " << error.what() << '\n';
  }
  return streams.finish(ondine::cli::failed);
}
