#include <ondine/import_hugging_face.h>
#include <ondine/printable.h>

#include <iostream>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {
namespace {

int run_import_hf(const CommandOptions& options) {
  const std::string output = options.text("output");
  const ImportHuggingFaceReport report =
      import_hugging_face(options.text("folder"), output,
                          import_options(options.of(OptionGroup::import_), OptionSpelling::dashes));
  for (const std::string& note : report.notes) std::cerr << "note: " << printable(note) << '\n';
  if (!report.generate.empty()) {
    std::cerr << "note: the folder's texts are written with 'generate";
    for (const auto& [name, value] : report.generate) {
      std::cerr << " --" << name << ' ' << printable(value);
    }
    std::cerr << "'\n";
  }
  std::cout << output << ": " << printable(report.architecture) << ", " << report.parameters
            << " parameters\n  inputs   ";
  for (const std::string& name : report.inputs) std::cout << "  " << printable(name);
  std::cout << "\n  outputs  ";
  for (const std::string& name : report.outputs) std::cout << "  " << printable(name);
  std::cout << "\n  tokenizer  " << (report.has_tokenizer ? "tokenizer.json" : "none")
            << (report.has_chat_template ? ", with a chat template" : "") << '\n';
  return 0;
}

}  // namespace

void add_import_hf(Parser& parser) {
  parser.add("import-hf", "Turn a folder of Hugging Face into a model",
             "  ondine import-hf SmolLM2-135M -o net.onnx\n"
             "  ondine import-hf SmolLM2-135M -o decoder.onnx --cache\n"
             "  ondine import-hf distilbert-base-uncased -o encoder.onnx --ids-only\n",
             run_import_hf);
}

}  // namespace ondine::cli
