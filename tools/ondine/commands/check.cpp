#include <iostream>

#include <ondine/operator_set.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {

namespace {

int run_check(const CommandOptions& options) {
  const std::string file = options.text("model");
  const LoadOptions load = load_of(options);
  const std::vector<std::string> findings =
      is_operator_set(file) ? check_operator_set(file, load) : check_model(file, load);
  for (const std::string& finding : findings) std::cerr << finding << '\n';
  if (findings.empty()) std::cout << printable(file) << ": no findings\n";
  return findings.empty() ? 0 : 1;
}

}  // namespace

void add_check(Parser& parser) {
  parser.add("check", "Check a model or an operator-set document and print every finding",
             "  ondine check model.onnx && echo valid\n"
             "  ondine check set.onnx\n"
             "  ondine check model.onnx --operator-set set.onnx\n",
             run_check);
}

}  // namespace ondine::cli
