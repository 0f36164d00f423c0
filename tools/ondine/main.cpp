// The command line. Exit codes: 0 success, 1 failure with one message, 2 wrong usage, 130 and 143
// for runs that SIGINT and SIGTERM ended.
#include <exception>
#include <iostream>

#include <ondine/error.h>

#include "ondine/command.h"
#include "ondine/standard_streams.h"
#include "ondine/system.h"

namespace {

constexpr void (*commands[])(ondine::cli::Parser&) = {
    ondine::cli::add_info,       ondine::cli::add_check,      ondine::cli::add_inspect,
    ondine::cli::add_prepare,    ondine::cli::add_finetune,   ondine::cli::add_new,
    ondine::cli::add_federate,   ondine::cli::add_train,      ondine::cli::add_infer,
    ondine::cli::add_generate,   ondine::cli::add_eval,       ondine::cli::add_export,
    ondine::cli::add_verify,     ondine::cli::add_bench,      ondine::cli::add_gradcheck,
    ondine::cli::add_doctor,     ondine::cli::add_lower,      ondine::cli::add_differentiate,
    ondine::cli::add_import_hf,  ondine::cli::add_import_ort, ondine::cli::add_replay,
    ondine::cli::add_completion, ondine::cli::add_manual,     ondine::cli::add_options_command};

int run(int argc, char** argv) {
  ondine::cli::Parser parser;
  for (const auto add : commands) add(parser);
  return parser.run(ondine::cli::program_arguments(argc, argv));
}

}  // namespace

// As a library, it shares the code of the engine with the extension of Python
// (tools/CMakeLists.txt).
#ifdef ONDINE_COMMAND_LIBRARY
extern "C" __attribute__((visibility("default"))) int ondine_command_line(int argc, char** argv) {
#else
int main(int argc, char** argv) {
#endif
  if (!ondine::cli::prepare_streams()) return ondine::cli::failed;
  ondine::cli::StandardStreams streams;
  try {
    return streams.finish(run(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "ondine: " << error.what() << '\n';
  }
  return streams.finish(ondine::cli::failed);
}
