#include <iostream>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {

void add_check(Parser& parser) {
  auto file = std::make_shared<std::string>();
  Command command = parser.add("check", "Check a model and print every finding",
                               "  ondine check model.onnx && echo valid\n");
  command.option("MODEL", file.get(), "Model file").required();
  command.runs([file] {
    const std::vector<std::string> findings = check_model(*file);
    for (const std::string& finding : findings) std::cerr << finding << '\n';
    if (findings.empty()) std::cout << *file << ": no findings\n";
    return findings.empty() ? 0 : 1;
  });
}

}  // namespace ondine::cli
