#include <ondine/import_ort.h>
#include <ondine/printable.h>

#include <iostream>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

int run_import_ort(const CommandOptions& options) {
  ImportOrtOptions how;
  how.checkpoint = options.text("checkpoint");
  how.labels = options.texts("label");
  how.external_data_from = external_data_of(options);
  const std::string output = options.text("output");
  const ImportOrtReport report = import_ort(options.text("folder"), output, how, load_of(options));
  print_warnings(report.prepared.warnings);
  for (const std::string& note : report.notes) std::cerr << "note: " << note << '\n';
  std::cout << output << ": loss '" << printable(report.prepared.loss) << "', trains "
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
  parser.add("import-ort", "Turn artifacts of onnxruntime-training into a training model",
             "  ondine import-ort artifacts -o train.onnx\n"
             "  ondine import-ort artifacts -o train.onnx --checkpoint artifacts/epoch-3.ckpt\n",
             run_import_ort);
}

}  // namespace ondine::cli
