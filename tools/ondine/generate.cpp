// The command `generate`: text that a language model writes, as it comes.
#include <iostream>
#include <memory>

#include <ondine/dataset.h>
#include <ondine/generate.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/take_checkpoint.h"
#include "ondine/take_weights.h"

namespace ondine::cli {
namespace {

struct Options {
  std::string model;
  std::string prompt;
  std::string checkpoint;
  std::vector<std::string> adapters;
  OptionValues tokenizer;  // of the table
  OptionValues generate;   // of the table
  LoadOptions load;
  bool quiet = false;
};

std::string count_of_tokens(std::uint64_t tokens) {
  return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

std::string tokens_and_rate(std::uint64_t tokens, double seconds) {
  std::string text = count_of_tokens(tokens);
  if (tokens > 0 && seconds > 0) {
    text += ", " + number(static_cast<double>(tokens) / seconds) + " tokens/s";
  }
  return text;
}

void print(const GenerateReport& report) {
  // Reading the prompt gives the first token.
  const std::uint64_t steps = report.tokens.empty() ? 0 : report.tokens.size() - 1;
  std::cerr << "prefill: " << tokens_and_rate(report.prompt_tokens, report.prefill_seconds)
            << "\ndecoding: " << tokens_and_rate(steps, report.decode_seconds)
            << "\ntext: " << count_of_tokens(report.tokens.size()) << ", ended by "
            << to_string(report.end) << "\ncache: " << to_string(report.cache) << '\n';
}

int run(const Options& options) {
  GenerateOptions how = generate_options(options.generate, OptionSpelling::dashes);
  note_precision(options.load);
  Model model = Model::load(options.model, options.load);
  const std::size_t warned = print_warnings(model);
  if (!options.checkpoint.empty()) take_checkpoint(model, options.checkpoint);
  model = with_adapter_folders(std::move(model), options.adapters, options.load);
  how.encoding =
      dataset_options(options.tokenizer, model, DataUse::inference, OptionSpelling::dashes)
          .text.encoding;
  const Generator generator(model, how);
  const GenerateReport report = generator.generate(options.prompt, [](std::string_view part) {
    std::cout << part << std::flush;
    return true;
  });
  std::cout << '\n';
  print_warnings(model, warned);
  if (!options.quiet) print(report);
  return 0;
}

}  // namespace

void add_generate(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.add(
      "generate", "Write text with a language model, as it comes",
      "  ondine generate model.onnx --tokenizer tokenizer.json --prompt 'In the beginning'\n"
      "  ondine generate tuned.onnx --prompt 'define: river' --temperature 0.7 --top-k 40 \\\n"
      "      --top-p 0.9 --stop END --max-tokens 200 --seed 1\n");
  command.option("MODEL", &options->model, "Model file").required();
  command.option("--prompt", &options->prompt, "Text to continue").required();
  command.option("--checkpoint", &options->checkpoint, "Checkpoint whose state to use");
  command.option("--adapter", &options->adapters,
                 "FOLDER or FOLDER=WEIGHT: a folder of PEFT's whose adapters count WEIGHT times, 1 "
                 "if absent; repeat for several");
  command.table(OptionGroup::data, options->tokenizer, {"tokenizer"});
  command.table(OptionGroup::generate, options->generate);
  command.option("--quiet", &options->quiet, "Print the text, errors and warnings only");
  add_run_options(command, options->load);
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
