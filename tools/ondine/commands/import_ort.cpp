#include <ondine/import_ort.h>
#include <ondine/printable.h>

#include <iostream>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

struct ImportOrtArguments {
  std::string folder;
  std::string output;
  std::string checkpoint;
  ImportOrtOptions import;
  LoadOptions load;
};

int run_import_ort(ImportOrtArguments& options) {
  options.import.checkpoint = options.checkpoint;
  const ImportOrtReport report =
      import_ort(options.folder, options.output, options.import, options.load);
  print_warnings(report.prepared.warnings);
  for (const std::string& note : report.notes) std::cerr << "note: " << note << '\n';
  std::cout << options.output << ": loss '" << printable(report.prepared.loss) << "', trains "
            << report.prepared.trained.size() << " parameters, " << report.prepared.frozen.size()
            << " frozen\n  optimizer  " << report.optimizer << ", learning rate "
            << number(double{report.learning_rate}) << ", step " << report.step << '\n';
  print_names("outputs  ", report.outputs);
  print_names("labels   ", report.labels);
  print_names("train    ", report.prepared.trained);
  print_names("freeze   ", report.prepared.frozen);
  return 0;
}

}  // namespace

void add_import_ort(Parser& parser) {
  auto options = std::make_shared<ImportOrtArguments>();
  Command command = parser.add(
      "import-ort", "Turn artifacts of onnxruntime-training into a training model",
      "  ondine import-ort artifacts -o train.onnx\n"
      "  ondine import-ort artifacts -o train.onnx --checkpoint artifacts/epoch-3.ckpt\n");
  command
      .option(
          "FOLDER", &options->folder,
          "Folder with eval_model.onnx, training_model.onnx, optimizer_model.onnx and checkpoint")
      .required();
  command.option("-o,--output", &options->output, "Training model to write").required();
  command.option("--checkpoint", &options->checkpoint,
                 "Checkpoint to take parameters and optimizer state from, instead of the folder's");
  command.option("--label", &options->import.labels, "Input that only the loss reads").one_each();
  add_external_data(command, options->import.external_data_from);
  add_operator_sets(command, options->load);
  command.runs([options] { return run_import_ort(*options); });
}

}  // namespace ondine::cli
