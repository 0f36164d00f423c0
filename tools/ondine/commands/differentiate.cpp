#include <iostream>

#include <ondine/lower.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

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

int run_differentiate(const CommandOptions& options) {
  DifferentiateOptions how;
  how.of = options.text("of");
  how.by = names_in(options.texts("by"));
  how.kind = options.has("forward")           ? DerivativeKind::jacobian_vector
             : options.has("vector-jacobian") ? DerivativeKind::vector_jacobian
             : options.has("hessian")         ? DerivativeKind::hessian_vector
                                              : DerivativeKind::gradient;
  how.opset = options.find_integer("opset");
  how.external_data_from = external_data_of(options);
  const std::string output = options.text("output");
  const LowerReport report = differentiate(options.text("model"), output, how, load_of(options));
  print_warnings(report.warnings);
  std::cout << output << ": " << report.nodes << " nodes of ai.onnx " << report.opset << '\n';
  for (const std::string& name : report.feeds) std::cout << "  input   " << printable(name) << '\n';
  for (const std::string& name : report.results)
    std::cout << "  output  " << printable(name) << '\n';
  return 0;
}

}  // namespace

void add_differentiate(Parser& parser) {
  parser.add("differentiate", "Write the derivatives of a tensor as a model of standard operators",
             "  ondine differentiate net.onnx --of y --by W,x -o gradient.onnx\n"
             "  ondine differentiate net.onnx --of y --by x --forward -o jvp.onnx\n"
             "  ondine differentiate net.onnx --of loss --by W --hessian -o hvp.onnx\n",
             run_differentiate);
}

}  // namespace ondine::cli
