#include <ondine/finetune.h>

#include <iostream>
#include <memory>
#include <sstream>

#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/train/data_options.h"
#include "ondine/train/folds.h"
#include "ondine/train/interrupt.h"
#include "ondine/train/progress.h"

namespace ondine::cli {
namespace {

struct FinetuneArguments {
  std::string model;
  std::string output;
  DataOptions data;
  std::vector<std::string> validation_data;
  OptionValues values;  // of the table
  bool quiet = false;
  LoadOptions load;
};

void add_validation(Command command, FinetuneArguments& options) {
  const Option data = command.option("--validation-data", &options.validation_data,
                                     "Folder or files to evaluate on");
  command.find("--validation-split").excludes(data);
  command.find("--folds").excludes(data);
}

FinetuneOptions completed(const FinetuneArguments& options) {
  FinetuneOptions tune = finetune_options(options.values, OptionSpelling::dashes);
  tune.output = options.output;
  tune.data = plain_dataset_options(options.data);
  if (!options.validation_data.empty()) tune.validation = to_paths(options.validation_data);
  tune.load = options.load;
  return tune;
}

// Prints what a run does, and lets signals end it.
void watch(FinetuneOptions& tune, Progress& progress) {
  tune.on_assumed = [&progress](std::span<const std::string> assumed) {
    for (const std::string& line : assumed) progress.line("assumed: " + printable(line));
  };
  tune.on_step = [&progress](const StepReport& step) {
    std::ostringstream status;
    status << step.mean;
    const std::string fold = step.fold == 0 ? "" : "fold " + std::to_string(step.fold) + ", ";
    progress.update(
        fold + "epoch " + std::to_string(step.epoch) + "/" + std::to_string(step.epochs), step.rows,
        step.epoch_rows, status.str());
    return !InterruptGuard::requested();
  };
  tune.on_epoch = [&progress](const EpochReport& epoch) {
    std::ostringstream line;
    line << epoch;
    progress.line(line.str());
  };
}

int interrupted(const TrainerOptions& trainer) {
  std::cerr << "ondine: interrupted; nothing was exported";
  if (!trainer.checkpoint.empty()) {
    std::cerr << "; saved to '" << trainer.checkpoint.string() << "', go on with --resume";
  }
  std::cerr << '\n';
  return InterruptGuard::exit_code();
}

int run_finetune(const FinetuneArguments& options) {
  if (options.data.data.empty()) throw WrongUsage("finetune needs --data");
  note_precision(options.load);
  FinetuneOptions tune = completed(options);
  Progress progress(options.quiet);
  watch(tune, progress);
  const InterruptGuard guard;
  const FinetuneModel model =
      options.model.empty() ? FinetuneModel() : FinetuneModel(options.model);
  const FinetuneReport report = finetune(model, to_paths(options.data.data), tune);
  for (const std::string& note : report.notes) std::cerr << "note: " << printable(note) << '\n';
  if (report.fit.reason == StopReason::requested) return interrupted(tune.trainer);
  print_folds(report.fit, progress);
  std::ostringstream text;
  text << report.fit;
  progress.line(text.str());
  text.str("");
  text << report;
  progress.line(text.str());
  const TrainerOptions& trainer = tune.trainer;
  if (!trainer.report.empty()) progress.line("report: " + trainer.report.string());
  if (!trainer.checkpoint.empty()) progress.line("checkpoint: " + trainer.checkpoint.string());
  return 0;
}

}  // namespace

void add_finetune(Parser& parser) {
  auto options = std::make_shared<FinetuneArguments>();
  Command command = parser.add(
      "finetune", "Tune a model, or a new network, for data in one go",
      "  ondine finetune net.onnx --data photos/ -o tuned.onnx\n"
      "  ondine finetune --data table.csv --target price -o prices.onnx --report report.html\n"
      "  ondine finetune net.onnx --data texts.jsonl --epochs 3 --learning-rate 0.001 -o t.onnx\n");
  command.option("MODEL", &options->model,
                 "Inference model; if absent a new network (see the command new)");
  options->data.cache_bytes = {};
  add_data_options(command, options->data, options->load.deadline);
  command.option("-o,--output", &options->output, "Tuned inference model to write").required();
  command.table(OptionGroup::finetune, options->values);
  add_validation(command, *options);
  command.option("--quiet", &options->quiet, "Print errors and warnings only");
  add_load_options(command, options->load);
  add_seed(command, options->load);
  command.takes_job_file("finetune");
  command.runs([options] { return run_finetune(*options); });
}

}  // namespace ondine::cli
