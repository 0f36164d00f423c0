#include <iostream>
#include <memory>

#include <ondine/adapters.h>
#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/take_checkpoint.h"
#include "ondine/take_weights.h"

namespace ondine::cli {

void add_export(Parser& parser) {
  struct Options {
    std::string model;
    std::string checkpoint;
    std::string weights;
    std::string adapter;
    std::string output;
    bool training = false;
    bool averaged = false;
    std::optional<std::uint64_t> external;
    LoadOptions load;
  };
  auto options = std::make_shared<Options>();
  Command command =
      parser.add("export", "Write a trained model as .onnx, or its weights as .safetensors",
                 "  ondine export train.onnx --checkpoint run.ckpt -o trained.onnx\n"
                 "  ondine export train.onnx --checkpoint run.ckpt -o continue.onnx "
                 "--training\n"
                 "  ondine export train.onnx --checkpoint run.ckpt -o trained.safetensors\n"
                 "  ondine export train.onnx --weights other.safetensors -o trained.onnx\n"
                 "  ondine export train.onnx --checkpoint run.ckpt --adapter my_adapter\n");
  command.option("MODEL", &options->model, "Training model").required();
  command.option("--checkpoint", &options->checkpoint, "Checkpoint whose state to export");
  command.option("--weights", &options->weights,
                 "Weights in .safetensors, or a folder of adapters; they override the checkpoint");
  command.option("-o,--output", &options->output,
                 "Model to write, or its weights alone as .safetensors");
  command.option("--adapter", &options->adapter,
                 "Folder to write the adapters to, as PEFT reads them");
  command.option(
      "--training", &options->training,
      "Keep the training information and its state (.onnx), or all state variables (.safetensors)");
  command.option("--averaged", &options->averaged,
                 "Export the averages of the parameters in their place");
  add_external_data(command, options->external);
  add_operator_sets(command, options->load);
  command.runs([options] {
    if (options->output.empty() && options->adapter.empty()) {
      throw Error(ErrorCode::invalid_option, "--output is required");
    }
    Model model = Model::load(options->model, options->load);
    print_warnings(model);
    if (!options->checkpoint.empty()) take_checkpoint(model, options->checkpoint);
    if (!options->weights.empty()) take_weights(model, options->weights);
    if (options->averaged) take_averages(model);
    if (!options->adapter.empty()) {
      save_adapters(model, options->adapter);
      std::cout << "wrote " << options->adapter << '\n';
    }
    if (options->output.empty()) return 0;
    const ExportOptions how{options->external};
    if (is_safetensors(options->output)) {
      save_weights(model, options->output, options->training ? WeightSet::all : WeightSet::weights);
    } else if (options->training) {
      model.export_training(options->output, how);
    } else {
      model.export_inference(options->output, how);
    }
    std::cout << "wrote " << options->output << '\n';
    return 0;
  });
}

}  // namespace ondine::cli
