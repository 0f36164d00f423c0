#include <ondine/lower.h>
#include <ondine/printable.h>

#include <iostream>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

int run_lower(const CommandOptions& options) {
  LowerOptions how;
  how.algorithm = options.count("algorithm");
  if (options.has("initialization-of")) how.initialization = options.count("initialization-of");
  how.opset = options.find_integer("opset");
  how.external_data_from = external_data_of(options);
  const std::string output = options.text("output");
  const LowerReport report = lower(options.text("model"), output, how, load_of(options));
  print_warnings(report.warnings);
  std::cout << output << ": " << report.nodes << " nodes of ai.onnx " << report.opset << '\n';
  print_names("feeds  ", report.feeds);
  print_names("state  ", report.state);
  print_names("results", report.results);
  for (const auto& [variable, next] : report.next_state) {
    std::cout << "  next     " << printable(variable) << " = " << printable(next) << '\n';
  }
  return 0;
}

}  // namespace

void add_lower(Parser& parser) {
  parser.add("lower", "Write a training step as an inference model of standard operators",
             "  ondine lower train.onnx -o step.onnx\n"
             "  ondine lower train.onnx -o step.onnx --opset 21\n"
             "  ondine lower train.onnx -o start.onnx --initialization-of 0\n",
             run_lower);
}

}  // namespace ondine::cli
