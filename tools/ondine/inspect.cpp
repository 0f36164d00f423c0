#include <iostream>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {

void add_inspect(Parser& parser) {
  struct Options {
    std::string model;
    std::string stage = "model";
    std::size_t algorithm = 0;
  };
  auto options = std::make_shared<Options>();
  Command command = parser.add("inspect", "Print a model at one stage of its way",
                               "  ondine inspect model.onnx --stage gradient\n");
  command.option("MODEL", &options->model, "Model file").required();
  command.option("--stage", &options->stage, "model, graph, training, gradient or optimized")
      .required();
  command.option("--algorithm", &options->algorithm, "Index of the training algorithm");
  command.runs([options] {
    const Model model = Model::load(options->model);
    std::cout << model.inspect(options->stage, options->algorithm) << '\n';
    return 0;
  });
}

}  // namespace ondine::cli
