#include <ondine/lower.h>
#include <ondine/printable.h>

#include <iostream>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

struct LowerArguments {
  std::string model;
  std::string output;
  std::uint64_t algorithm = 0;
  std::optional<std::uint64_t> initialization;
  std::optional<std::uint64_t> opset;
  std::optional<std::uint64_t> external;
  LoadOptions load;
};

int run_lower(const LowerArguments& options) {
  LowerOptions how;
  how.algorithm = options.algorithm;
  how.initialization = options.initialization;
  if (options.opset) how.opset = static_cast<std::int64_t>(*options.opset);
  how.external_data_from = options.external;
  const LowerReport report = lower(options.model, options.output, how, options.load);
  print_warnings(report.warnings);
  std::cout << options.output << ": " << report.nodes << " nodes of ai.onnx " << report.opset
            << '\n';
  print_names("feeds  ", report.feeds);
  print_names("state  ", report.state);
  print_names("results", report.results);
  for (const auto& [variable, output] : report.next_state) {
    std::cout << "  next     " << printable(variable) << " = " << printable(output) << '\n';
  }
  return 0;
}

}  // namespace

void add_lower(Parser& parser) {
  auto options = std::make_shared<LowerArguments>();
  Command command =
      parser.add("lower", "Write a training step as an inference model of standard operators",
                 "  ondine lower train.onnx -o step.onnx\n"
                 "  ondine lower train.onnx -o step.onnx --opset 21\n"
                 "  ondine lower train.onnx -o start.onnx --initialization-of 0\n");
  command.option("MODEL", &options->model, "Training model").required();
  command.option("-o,--output", &options->output, "Inference model to write").required();
  const Option algorithm = command.option("--algorithm", &options->algorithm,
                                          "Training information whose step to write (0)");
  command
      .option("--initialization-of", &options->initialization,
              "Write the initialization of this training information instead")
      .excludes(algorithm);
  command.renamed("--initialization", "--initialization-of");
  command.option("--opset", &options->opset,
                 "Version of ai.onnx (default: the model's, at least 18)");
  add_external_data(command, options->external);
  add_operator_sets(command, options->load);
  command.runs([options] { return run_lower(*options); });
}

}  // namespace ondine::cli
