#include <iostream>
#include <memory>

#include <ondine/operator_set.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {

void add_check(Parser& parser) {
  struct Options {
    std::string file;
    LoadOptions load;
  };
  auto options = std::make_shared<Options>();
  Command command =
      parser.add("check", "Check a model or an operator-set document and print every finding",
                 "  ondine check model.onnx && echo valid\n"
                 "  ondine check set.onnx\n"
                 "  ondine check model.onnx --operator-set set.onnx\n");
  command.option("MODEL", &options->file, "Model or operator-set document").required();
  add_operator_sets(command, options->load);
  command.runs([options] {
    const std::string& file = options->file;
    const std::vector<std::string> findings = is_operator_set(file)
                                                  ? check_operator_set(file, options->load)
                                                  : check_model(file, options->load);
    for (const std::string& finding : findings) std::cerr << finding << '\n';
    if (findings.empty()) std::cout << printable(file) << ": no findings\n";
    return findings.empty() ? 0 : 1;
  });
}

}  // namespace ondine::cli
