// The commands. Each adds itself to the parser and, when chosen, sets what is
// to run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace ondine::cli {

// Runs after parsing; the result is the exit code. Errors are thrown.
using Action = std::function<int()>;

void add_info(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_prepare(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_infer(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_gradcheck(CLI::App& app, Action& action);

}  // namespace ondine::cli
