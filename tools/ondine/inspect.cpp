#include <iostream>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {

void add_inspect(CLI::App& app, Action& action) {
  struct Options {
    std::string model;
    std::string stage = "model";
    std::size_t algorithm = 0;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = add_command(app, "inspect", "Print a model at one stage of its way",
                                  "  ondine inspect model.onnx --stage gradient\n");
  command->add_option("MODEL", options->model, "Model file")->required();
  command->add_option("--stage", options->stage, "model, graph, training, gradient or optimized")
      ->required();
  command->add_option("--algorithm", options->algorithm, "Index of the training algorithm");
  command->callback([options, &action] {
    action = [options] {
      const Model model = Model::load(options->model);
      std::cout << model.inspect(options->stage, options->algorithm) << '\n';
      return 0;
    };
  });
}

}  // namespace ondine::cli
