#include <iostream>

#include <ondine/adapters.h>
#include <ondine/trainer.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/take_checkpoint.h"
#include "ondine/take_weights.h"

namespace ondine::cli {

namespace {

void write_model(const Model& model, const CommandOptions& options) {
  const std::string output = options.text("output");
  const ExportOptions how{external_data_of(options)};
  const bool training = options.has("training");
  if (is_safetensors(output)) {
    if (how.external_data_from) throw WrongUsage("--external-data-from is for .onnx files");
    save_weights(model, output, training ? WeightSet::all : WeightSet::weights);
  } else if (training) {
    model.export_training(output, how);
  } else {
    model.export_inference(output, how);
  }
  std::cout << "wrote " << output << '\n';
}

int run_export(const CommandOptions& options) {
  if (!options.has("output") && !options.has("adapter")) throw WrongUsage("--output is required");
  Model model = Model::load(options.text("model"), load_of(options));
  print_warnings(model);
  if (options.has("checkpoint")) take_checkpoint(model, options.text("checkpoint"));
  if (options.has("weights")) take_weights(model, options.text("weights"));
  if (options.has("averaged")) take_averages(model);
  if (options.has("adapter")) {
    const std::string folder = options.text("adapter");
    save_adapters(model, folder);
    std::cout << "wrote " << folder << '\n';
  }
  if (options.has("output")) write_model(model, options);
  return 0;
}

}  // namespace

void add_export(Parser& parser) {
  parser.add("export", "Write a trained model as .onnx, or its weights as .safetensors",
             "  ondine export train.onnx --checkpoint run.ckpt -o trained.onnx\n"
             "  ondine export train.onnx --checkpoint run.ckpt -o continue.onnx "
             "--training\n"
             "  ondine export train.onnx --checkpoint run.ckpt -o trained.safetensors\n"
             "  ondine export train.onnx --weights other.safetensors -o trained.onnx\n"
             "  ondine export train.onnx --checkpoint run.ckpt --adapter my_adapter\n",
             run_export);
}

}  // namespace ondine::cli
