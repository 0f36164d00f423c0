#include <iostream>
#include <memory>

#include <ondine/lower.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

struct DifferentiateArguments {
  std::string model;
  std::string output;
  std::string of;
  std::vector<std::string> by;
  bool forward = false;
  bool seeded = false;
  bool hessian = false;
  std::optional<std::uint64_t> opset;
  std::optional<std::uint64_t> external;
  LoadOptions load;
};

// "W,x" names two tensors.
std::vector<std::string> names_in(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (std::string& name : split_commas(list)) {
      if (!name.empty()) names.push_back(std::move(name));
    }
  }
  return names;
}

int run_differentiate(const DifferentiateArguments& options) {
  DifferentiateOptions how;
  how.of = options.of;
  how.by = names_in(options.by);
  how.kind = options.forward   ? DerivativeKind::jacobian_vector
             : options.seeded  ? DerivativeKind::vector_jacobian
             : options.hessian ? DerivativeKind::hessian_vector
                               : DerivativeKind::gradient;
  if (options.opset) how.opset = static_cast<std::int64_t>(*options.opset);
  how.external_data_from = options.external;
  const LowerReport report = differentiate(options.model, options.output, how, options.load);
  print_warnings(report.warnings);
  std::cout << options.output << ": " << report.nodes << " nodes of ai.onnx " << report.opset
            << '\n';
  for (const std::string& name : report.feeds) std::cout << "  input   " << printable(name) << '\n';
  for (const std::string& name : report.results)
    std::cout << "  output  " << printable(name) << '\n';
  return 0;
}

}  // namespace

void add_differentiate(Parser& parser) {
  auto options = std::make_shared<DifferentiateArguments>();
  Command command = parser.add(
      "differentiate", "Write the derivatives of a tensor as a model of standard operators",
      "  ondine differentiate net.onnx --of y --by W,x -o gradient.onnx\n"
      "  ondine differentiate net.onnx --of y --by x --forward -o jvp.onnx\n"
      "  ondine differentiate net.onnx --of loss --by W --hessian -o hvp.onnx\n");
  command.option("MODEL", &options->model, "Model whose main graph to differentiate").required();
  command.option("-o,--output", &options->output, "Inference model to write").required();
  command.option("--of", &options->of, "Tensor to differentiate; the sum of its elements")
      .required();
  command.option("--by", &options->by, "Inputs, initializers or other tensors, with commas")
      .required();
  const Option forward = command.option("--forward", &options->forward,
                                        "Jacobian-vector product; the vectors are inputs");
  const Option seeded = command.option("--vector-jacobian", &options->seeded,
                                       "Vector-Jacobian product; the vector is an input");
  Option hessian = command.option("--hessian", &options->hessian,
                                  "Hessian-vector product; the vectors are inputs");
  hessian.excludes(forward).excludes(seeded);
  Option(seeded).excludes(forward);
  // The name of before, without the random numbers of --seed in it.
  Option former = command.option("--seed-input", &options->seeded, "");
  former.hidden().excludes(forward).excludes(hessian);
  command.option("--opset", &options->opset,
                 "Version of ai.onnx (default: the model's, at least 18)");
  add_external_data(command, options->external);
  add_operator_sets(command, options->load);
  command.runs([options] { return run_differentiate(*options); });
}

}  // namespace ondine::cli
